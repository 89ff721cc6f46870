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
  const secrets = [...path.split('/'), ...base.searchParams.values(), base.username, base.password];
  secrets.push(header, ...header.split(/\s+/));
  return {
    origin: base.origin,
    infoPath: `${path}/info${base.search}`,
    pushUrl: `${pushProtocol}//${base.host}${path}/ws${base.search}`,
    redact: (text) => hideAll(text, secrets),
  };
}

function hideAll(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret.length >= SECRET_LENGTH_MIN)
    .reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
}
