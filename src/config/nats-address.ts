/** The address of a ledger on NATS. */

/**
 * The start of nats://[user:password@ or token@]host:port[,host:port...]/NAME, or of the same with
 * tls://.
 */
const SCHEME = /^(nats|tls):\/\//;
/** A host name or an IP address, IPv6 in brackets. */
const HOST = /^(?:\[[\da-fA-F:.]+\]|[^\s@/,:?#%[\]\\]+)$/;
const PORT_MAX = 65_535;
const NAME = /^[A-Za-z0-9_-]{1,64}$/;
export const NATS_ADDRESS_EXPECTED = 'nats://[user:password@]host:port[,host:port...]/NAME';

export interface NatsAddress {
  readonly servers: readonly string[];
  readonly credentials: {
    readonly user?: string;
    readonly pass?: string;
    readonly token?: string;
  };
  readonly isEncrypted: boolean;
  /** The name of the ledger and of its stream. */
  readonly name: string;
}

/** Parses an address; returns undefined if the text is not an address. */
export function parseNatsAddress(text: string): NatsAddress | undefined {
  const parts = splitAddress(text);
  if (findFault(text, parts) !== undefined) return undefined;
  const { login, hosts, name } = parts;
  const credentials = parseLogin(login) ?? {};
  return { servers: hosts.split(','), credentials, isEncrypted: text.startsWith('tls:'), name };
}

/** True if one of the ledgers that settings name is on NATS. */
export function isOnNats({ ledger, from, to }: Readonly<Record<string, unknown>>): boolean {
  return ledger !== undefined || [from, to].some(isNatsLocation);
}

function isNatsLocation(location: unknown): boolean {
  return (location as { readonly ledger?: unknown } | undefined)?.ledger !== undefined;
}

/**
 * Returns the text of an address, for the environment of our own processes. The text may contain a
 * password.
 */
export function formatNatsAddress(address: NatsAddress): string {
  const { servers, credentials, isEncrypted, name } = address;
  const { user, pass, token } = credentials;
  const login = [token ?? user, pass].filter((part) => part !== undefined);
  const before = login.length === 0 ? '' : `${login.map(encodeURIComponent).join(':')}@`;
  return `${isEncrypted ? 'tls' : 'nats'}://${before}${servers.join(',')}/${name}`;
}

/**
 * Describes why the text is not an address. The description never contains the text, because the
 * text may contain a password.
 */
export function describeAddressFault(text: string): string {
  return findFault(text, splitAddress(text)) ?? 'it is an address';
}

interface AddressParts {
  readonly login: string | undefined;
  readonly hosts: string;
  readonly name: string;
}

/** Splits at the last @ and the first slash after it. */
function splitAddress(text: string): AddressParts {
  const rest = text.replace(SCHEME, '');
  const at = rest.lastIndexOf('@');
  const place = rest.slice(at + 1);
  const [hosts, ...names] = place.split('/');
  return { login: at === -1 ? undefined : rest.slice(0, at), hosts, name: names.join('/') };
}

function findFault(text: string, { login, hosts, name }: AddressParts): string | undefined {
  if (/^\s|\s$/.test(text)) return 'it begins or ends with white space';
  if (!SCHEME.test(text)) return 'its scheme is neither nats:// nor tls://';
  if (login !== undefined && (/[@/]/.test(login) || parseLogin(login) === undefined)) {
    return 'its user or password has a character that must be escaped: % as %25, / as %2F, @ as %40';
  }
  const fault = hosts.split(',').map(findHostFault).find(Boolean);
  if (fault !== undefined) return fault;
  if (name === '') return 'it has no ledger name after the hosts';
  return NAME.test(name) ? undefined : 'its ledger name is not 1 to 64 letters, digits, _ or -';
}

function findHostFault(text: string): string | undefined {
  if (/\s/.test(text)) return 'it has white space in or next to a host';
  const [, host = '', port] = /^(\[.*\]|[^:]*)(?::(.*))?$/.exec(text) ?? [];
  if (host === '') return 'it has no host, or an empty one';
  if (!HOST.test(host)) return 'one of its hosts is neither a name nor an IP address';
  if (port === undefined || isPort(port)) return undefined;
  return `one of its ports is not a whole number from 1 to ${PORT_MAX}`;
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= PORT_MAX;
}

function parseLogin(login: string | undefined): NatsAddress['credentials'] | undefined {
  if (login === undefined) return {};
  try {
    const [user, pass] = login.split(':').map(decodeURIComponent);
    return pass === undefined ? { token: user } : { user, pass };
  } catch {
    return undefined; // A malformed percent escape.
  }
}
