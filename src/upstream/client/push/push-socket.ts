/** The part of a WebSocket that the push connection uses, so that tests can replace the socket. */

import { type RawData, WebSocket } from 'ws';

const MESSAGE_BYTES_MAX = 8 << 20;

export interface PushSocket {
  on(event: 'open' | 'ping', listener: () => void): unknown;
  on(event: 'message', listener: (data: RawData, isBinary: boolean) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'close', listener: (code: number, reason: Buffer) => void): unknown;
  send(text: string, sent: () => void): void;
  terminate(): void;
}

export function openPushSocket(url: string, headers: Readonly<Record<string, string>>): PushSocket {
  return new WebSocket(url, { headers, maxPayload: MESSAGE_BYTES_MAX, perMessageDeflate: false });
}
