/**
 * Shows where the time of one request goes, in one worker under full load:
 *
 *   npm run bench:profile                     100,000 accounts, ten seconds of load
 *   npm run bench:profile -- --quick          with fewer, in less time
 *   npm run bench:profile -- --no-fast-lane   without the service's short way for ordinary requests
 *
 * The engine reports at a short interval which function it runs. The time of a function for a
 * request is the time of all its samples, divided by the number of requests that were answered
 * meanwhile. Functions that the engine has inlined count as part of their callers. Time in which
 * another process has the core counts as the time of the interrupted function.
 */

import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { PROJECT } from '../../tools/harness/paths.ts';
import { type Bench, runBench } from '../frame/frame.ts';
import { printTable } from '../frame/report.ts';
import { requireTools } from '../frame/required-tools.ts';
import { startWriter } from '../load/writer.ts';
import { Wrk } from '../load/wrk.ts';
import { askForAccount, buildExchange, PATIENCE } from '../servers/exchange.ts';
import { chooseFreePort, startPerpinfo } from '../servers/servers.ts';

const SAMPLE_MICROSECONDS = 200;
const TOP = 25;
const FULL = { accounts: 100_000, warmUpSeconds: 5, seconds: 10 };
const QUICK = { accounts: 2000, warmUpSeconds: 2, seconds: 3 };
type Scale = typeof FULL;

/** A function as the engine reports it. Lines and columns are counted from 0. */
interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
  readonly columnNumber: number;
}

interface Profile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** A client of the engine's inspector protocol, over the WebSocket that the engine offers. */
class Inspector {
  readonly #socket: WebSocket;
  #lastId = 0;

  constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  send<T>(method: string, params: object = {}): Promise<T> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const take = (data: Buffer) => {
        const message = JSON.parse(data.toString());
        if (message.id !== id) return;
        this.#socket.off('message', take);
        if (message.error) reject(new Error(`${method}: ${message.error.message}`));
        else resolve(message.result);
      };
      this.#socket.on('message', take);
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }

  close(): void {
    this.#socket.terminate();
  }
}

async function connectInspector(port: number): Promise<Inspector> {
  const response = await fetch(`http://127.0.0.1:${port}/json/list`);
  const [{ webSocketDebuggerUrl }] = (await response.json()) as { webSocketDebuggerUrl: string }[];
  const socket = new WebSocket(webSocketDebuggerUrl, { maxPayload: 1 << 30 });
  await new Promise((resolve, reject) => socket.on('open', resolve).on('error', reject));
  return new Inspector(socket);
}

async function takeProfile(inspector: Inspector, load: () => Promise<void>): Promise<Profile> {
  await inspector.send('Profiler.enable');
  await inspector.send('Profiler.setSamplingInterval', { interval: SAMPLE_MICROSECONDS });
  await inspector.send('Profiler.start');
  await load();
  const { profile } = await inspector.send<{ profile: Profile }>('Profiler.stop');
  return profile;
}

/** The times by key, in microseconds. */
type Times = Map<string, number>;

function addTime(times: Times, key: string, microseconds: number): void {
  times.set(key, (times.get(key) ?? 0) + microseconds);
}

/** Returns the time in each function itself, without the functions that it called. */
function selfTimes({ nodes, samples, timeDeltas }: Profile, keyOf: (frame: CallFrame) => string) {
  const keys = new Map(nodes.map(({ id, callFrame }) => [id, keyOf(callFrame)]));
  const times: Times = new Map();
  samples.forEach((id, index) => {
    // The time between two samples belongs to the function of the earlier sample.
    addTime(times, keys.get(id) ?? '', timeDeltas[index + 1] ?? SAMPLE_MICROSECONDS);
  });
  return times;
}

function fileOf(url: string): string {
  if (!url.startsWith('file:')) return url;
  return path.relative(PROJECT, fileURLToPath(url));
}

const sourceMaps = new Map<string, SourceMap>();

function sourceMapOf(url: string): SourceMap {
  const known = sourceMaps.get(url);
  if (known !== undefined) return known;
  const map = new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, 'utf8')));
  sourceMaps.set(url, map);
  return map;
}

/**
 * Returns the file and line of a function. If the file was built here, they are the file and line
 * of the source.
 */
function locate({ url, lineNumber, columnNumber }: CallFrame): string {
  const file = fileOf(url);
  if (!file.startsWith('dist/')) return `${file}:${lineNumber + 1}`;
  const entry = sourceMapOf(url).findEntry(lineNumber, columnNumber);
  if (!('originalSource' in entry)) return `${file}:${lineNumber + 1}`;
  const source = path.resolve(path.dirname(fileURLToPath(url)), entry.originalSource);
  return `${path.relative(PROJECT, source)}:${entry.originalLine + 1}`;
}

function nameFunction(frame: CallFrame): string {
  const name = frame.functionName === '' ? '(anonymous)' : frame.functionName;
  return frame.url === '' ? name : `${name} ${locate(frame)}`;
}

/** Returns the part of the process that a function belongs to. */
function nameGroup(frame: CallFrame): string {
  const { functionName, url } = frame;
  if (functionName === '(garbage collector)') return 'garbage collection';
  if (functionName === '(idle)') return 'idle';
  if (functionName === '(program)') return "native code (node's, the engine's, the system's)";
  if (url.startsWith('node:')) return "node's own modules";
  if (url === '') return 'native functions that were called by name';
  if (!fileOf(url).startsWith('dist/')) return fileOf(url).split('/').slice(0, 2).join('/');
  return path.dirname(locate(frame));
}

function printTimes(title: string, times: Times, requests: number, count = times.size): void {
  const total = [...times.values()].reduce((sum, time) => sum + time, 0);
  const sorted = [...times].sort(([, one], [, other]) => other - one).slice(0, count);
  const rows = sorted.map(([key, time]) => [
    key,
    ((time * 1000) / requests).toFixed(0),
    `${((time / total) * 100).toFixed(1)} %`,
  ]);
  console.log('');
  printTable([title, 'ns a request', 'share'], rows);
}

async function run(bench: Bench, scale: Scale, flags: readonly string[]): Promise<void> {
  const { folder } = bench;
  const { users, requestPath } = await buildExchange(folder, scale.accounts);
  const bodies = users.map(askForAccount);
  const wrk = new Wrk({ folder, name: 'profile', bodies, requestPath });
  const port = await chooseFreePort();
  // The second flag prevents that the inspector announces itself on standard error.
  const nodeFlags = [`--inspect=127.0.0.1:${port}`, '--inspect-publish-uid=http'];
  await bench.keep(startWriter(folder));
  const options = { workers: 1, flags: [...PATIENCE, ...flags], nodeFlags };
  const server = await bench.keep(startPerpinfo(folder, options));
  const inspector = await connectInspector(port);
  await wrk.load(server.port, scale.warmUpSeconds);
  let requests = 0;
  let requestsPerSecond = 0;
  const profile = await takeProfile(inspector, async () => {
    ({ requests, requestsPerSecond } = await wrk.load(server.port, scale.seconds));
  });
  inspector.close();
  console.log(`${requests} requests, ${requestsPerSecond.toFixed(0)} a second while sampled`);
  printTimes('part', selfTimes(profile, nameGroup), requests);
  printTimes('function itself', selfTimes(profile, nameFunction), requests, TOP);
}

requireTools('wrk');
const args = process.argv.slice(2);
await runBench(async (bench) => {
  const flags = args.filter((arg) => arg === '--no-fast-lane');
  await run(bench, args.includes('--quick') ? QUICK : FULL, flags);
  return [];
});
