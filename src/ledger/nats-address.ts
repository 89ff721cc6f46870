/** Where a ledger on NATS is, as it is given in one line of text. */

/** nats://[user:password@ or token@]host:port[,host:port...]/NAME, or tls:// */
const ADDRESS = /^(nats|tls):\/\/(?:([^@/]*)@)?([^@/]+)\/([A-Za-z0-9_-]{1,64})$/;
/** A name or an address, IPv6 in brackets, and perhaps a port: no white space, nothing that ends it. */
const HOST = /^(?:\[[\da-fA-F:.]+\]|[^\s@/,:?#%[\]\\]+)(?::(\d{1,5}))?$/;
const PORT_MAX = 65_535;
export const ADDRESS_EXPECTED = 'nats://[user:password@]host:port[,host:port...]/NAME';

export interface NatsAddress {
  readonly servers: readonly string[];
  readonly credentials: {
    readonly user?: string;
    readonly pass?: string;
    readonly token?: string;
  };
  readonly isEncrypted: boolean;
  /** The ledger's name, which is the stream's. */
  readonly name: string;
}

/** Undefined where the text is not such an address. */
export function parseNatsAddress(text: string): NatsAddress | undefined {
  const [, scheme, login, hosts, name] = ADDRESS.exec(text) ?? [];
  if (hosts === undefined || name === undefined) return undefined;
  const credentials = parseLogin(login);
  const servers = hosts.split(',');
  if (credentials === undefined || !servers.every(isHost)) return undefined;
  return { servers, credentials, isEncrypted: scheme === 'tls', name };
}

function isHost(text: string): boolean {
  const match = HOST.exec(text);
  return match !== null && Number(match[1] ?? 0) <= PORT_MAX;
}

function parseLogin(login: string | undefined): NatsAddress['credentials'] | undefined {
  if (login === undefined) return {};
  try {
    const [user, pass] = login.split(':').map(decodeURIComponent);
    return pass === undefined ? { token: user } : { user, pass };
  } catch {
    return undefined; // A percent sign that begins no character.
  }
}
