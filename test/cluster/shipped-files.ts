/** The files of deploy/, changed where a test has other machines, ports and folders. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PROJECT } from '../../tools/harness/paths.ts';
import { Program } from '../../tools/harness/program.ts';

const RUN_MS_MAX = 120_000;

export function readDeployed(file: string): string {
  return readFileSync(path.join(PROJECT, 'deploy', file), 'utf8');
}

/** Replaces what must be there. */
export function replace(text: string, from: string | RegExp, to: string): string {
  const changed = text.replaceAll(from, to);
  if (changed === text) throw new Error(`${from} is not in the shipped file`);
  return changed;
}

interface NginxOptions {
  /** Of deploy/. */
  readonly file: string;
  /** For what it writes. */
  readonly folder: string;
  readonly port: number;
  /** In place of the shipped time for which it waits for an answer. */
  readonly readTimeout?: string;
  /** The addresses of the servers behind it, by those in the file. */
  readonly servers: Readonly<Record<string, string>>;
}

export function startNginx({ file, folder, port, readTimeout, servers }: NginxOptions): Program {
  let config = replace(readDeployed(file), 'listen 8080', `listen 127.0.0.1:${port}`);
  for (const [shipped, moved] of Object.entries(servers)) {
    config = replace(config, shipped, moved);
  }
  if (readTimeout !== undefined) {
    config = replace(config, /proxy_read_timeout \d+s/g, `proxy_read_timeout ${readTimeout}`);
  }
  const own = path.join(folder, 'nginx');
  mkdirSync(own, { recursive: true });
  const changed = path.join(own, 'nginx.conf');
  writeFileSync(changed, config);
  const terms = `daemon off; pid ${path.join(own, 'pid')};`;
  return new Program(['nginx', '-p', own, '-c', changed, '-g', terms], {}, RUN_MS_MAX);
}
