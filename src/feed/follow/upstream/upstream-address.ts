/**
 * The addresses of an upstream. Everything but its origin is secret: vendors put a key into the path, or
 * want it in a header.
 */

export interface UpstreamAddress {
  /** For logs, /health and metrics: scheme, host and port. */
  readonly origin: string;
  /** Path and query of the questions. */
  readonly infoPath: string;
  /** The address of the push connection. */
  readonly pushUrl: string;
  /** Removes what is secret from a text, such as an error message of the upstream. */
  redact(text: string): string;
}

/** Shorter parts of a path, such as "info" and "v1", are no secret, and occur in any text. */
const SECRET_LENGTH_MIN = 6;

/**
 * From a base such as https://host/key, with or without "/info" at the end. `header` is the value of the
 * header that goes with each request, such as "Bearer KEY".
 */
export function readUpstreamAddress(base: URL, header = ''): UpstreamAddress {
  const path = base.pathname.replace(/\/+$/, '').replace(/\/info$/, '');
  const pushProtocol = base.protocol === 'https:' ? 'wss:' : 'ws:';
  const written = [...path.split('/'), base.search.slice(1), base.username, base.password];
  const parts = [...written, ...base.search.split(/[?&=]/), header, ...header.split(/\s+/)];
  // An upstream may repeat each part as it was written, or decoded.
  const secrets = [...new Set([...parts, ...parts.map(decode), ...base.searchParams.values()])];
  return {
    origin: base.origin,
    infoPath: `${path}/info${base.search}`,
    pushUrl: `${pushProtocol}//${base.host}${path}/ws${base.search}`,
    redact: (text) => hideAll(text, secrets),
  };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The longest first: a secret may be part of another one. */
function hideAll(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret.length >= SECRET_LENGTH_MIN)
    .sort((first, second) => second.length - first.length)
    .reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
}
