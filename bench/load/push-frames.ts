/** Creates frames that a client may send on a push connection. */

const LONG_BYTES = 60_000;

export function formatPost(payload: object): string {
  return JSON.stringify({ method: 'post', id: 1, request: { type: 'info', payload } });
}

/** Returns frames that cost little to send, by name. The service answers each with one frame. */
export function listPushFloods(): Record<string, string> {
  const subscription = { type: 'trades', coin: 'BTC' };
  return {
    ping: JSON.stringify({ method: 'ping' }),
    'refused: a subscription': JSON.stringify({ method: 'subscribe', subscription }),
    'refused: an invalid address': JSON.stringify({
      method: 'subscribe',
      subscription: { type: 'clearinghouseState', user: '0x12' },
    }),
    'refused: a post': formatPost({ type: 'a' }),
    'refused: not JSON, 60 KB': 'x'.repeat(LONG_BYTES),
    'refused: 60 KB of nested arrays': '['.repeat(LONG_BYTES / 2) + ']'.repeat(LONG_BYTES / 2),
  };
}
