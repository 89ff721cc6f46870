/** The options of the NATS client, and how it chooses a server. */

import { readFileSync } from 'node:fs';
import type { NodeConnectionOptions, Server } from '@nats-io/transport-node';
import type { NatsAddress } from '../../config/nats-address.ts';
import { LedgerError } from '../ledger.ts';

/** The deadline for connecting to one server. After it, the client tries the next server. */
const CONNECT_MS = 2_000;
const RECONNECT_MS = 250;
/**
 * A paused server keeps its connections open. Only unanswered pings show that the server is paused.
 */
const PING_MS = 1_000;
const PINGS_UNANSWERED_MAX = 2;

export interface NatsOptions {
  readonly address: NatsAddress;
  /** The replication factor of streams that are created: 1 or 3. */
  readonly replicas: number;
  /** A credentials file, as `nsc` writes it: the user's token and key. */
  readonly credsFile?: string | undefined;
  /** A file with the certificate authority of the servers. */
  readonly caFile?: string | undefined;
  /** Connecting is retried for this long; by default, the client tries once. */
  readonly waitMs?: number | undefined;
  /** Called with a message when the servers cannot be reached and the client retries. */
  readonly waiting?: ((message: string) => void) | undefined;
}

export type NatsModules = Awaited<ReturnType<typeof loadModules>>;

/** Loads the modules on first use, because an embedded ledger does not need them. */
export async function loadModules() {
  const [transport, stream, kv, objects] = await Promise.all([
    import('@nats-io/transport-node'),
    import('@nats-io/jetstream'),
    import('@nats-io/kv'),
    import('@nats-io/obj'),
  ]);
  return { transport, stream, kv, objects };
}

/**
 * Returns the least recently tried server, so that the server that the client has just left comes
 * last.
 */
function chooseServer(pool: readonly Server[]): Server {
  return pool.reduce((oldest, server) =>
    server.lastConnect < oldest.lastConnect ? server : oldest,
  );
}

function readSettingFile(flag: string, file: string): Buffer {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    const message = `cannot read the file of ${flag}: ${(error as Error).message}`;
    throw new LedgerError('missing', message, { cause: error });
  }
  // The client would treat an empty file as no file, and trust the system's authorities instead.
  if (bytes.length === 0) throw new LedgerError('missing', `the file of ${flag} is empty: ${file}`);
  return bytes;
}

/**
 * Reads the file before the connection starts. The client would read the file in the middle of a
 * handshake, where an error ends the process, and the client's error does not name the file.
 */
function readAuthority(caFile: string): { ca: string } {
  return { ca: readSettingFile('--nats-ca', caFile).toString() };
}

export function connectionOptions(
  options: NatsOptions,
  { transport }: NatsModules,
): NodeConnectionOptions {
  const { address, credsFile, caFile } = options;
  const isEncrypted = address.isEncrypted || caFile !== undefined;
  return {
    name: 'perpinfo',
    servers: [...address.servers],
    ...address.credentials,
    ...(credsFile === undefined
      ? {}
      : {
          authenticator: transport.credsAuthenticator(readSettingFile('--nats-creds', credsFile)),
        }),
    ...(isEncrypted ? { tls: caFile === undefined ? {} : readAuthority(caFile) } : {}),
    timeout: CONNECT_MS,
    maxReconnectAttempts: -1,
    // A server that has just been restarted may not know its users yet.
    ignoreAuthErrorAbort: true,
    reconnectTimeWait: RECONNECT_MS,
    pingInterval: PING_MS,
    maxPingOut: PINGS_UNANSWERED_MAX,
    reconnectToServer: chooseServer,
    // A stack trace for each request costs more than the request.
    noAsyncTraces: true,
  };
}
