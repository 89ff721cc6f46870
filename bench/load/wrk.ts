/**
 * Creates load with wrk: one thread, keep-alive connections, and a random body of a list in each
 * request.
 */

import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { cpuSecondsOfEnded } from '../frame/process-usage.ts';

const CONNECTIONS = 64;
/** A request without an answer after this time counts as failed. */
const TIMEOUT_SECONDS = 30;

/** The result of one run of load. */
export interface Load {
  readonly requests: number;
  readonly requestsPerSecond: number;
  /** The processor time of wrk itself while it sent requests. */
  readonly cpuSeconds: number;
}

/** The report that the script prints at the end. */
interface Report {
  readonly requests: number;
  readonly microseconds: number;
  readonly failures: number;
  /** The processor time before the first request, in seconds. */
  readonly preparation: number;
}

/**
 * The script formats all requests before the first one is sent, so that wrk has little to do during
 * the load.
 */
const SCRIPT = `
local requests = {}
local askers = {}

function setup(thread)
  askers[#askers + 1] = thread
end

function init(args)
  local path, bodies = args[1], args[2]
  local headers = { ["Content-Type"] = "application/json" }
  for body in io.lines(bodies) do
    requests[#requests + 1] = wrk.format("POST", path, headers, body)
  end
  math.randomseed(os.time())
  preparation = os.clock()
end

function request()
  return requests[math.random(#requests)]
end

function done(summary, latency)
  local errors = summary.errors
  local failures = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format(
    '\\n{"requests":%d,"microseconds":%d,"failures":%d,"preparation":%.3f}\\n',
    summary.requests, summary.duration, failures, askers[1]:get("preparation")))
end
`;

export interface WrkOptions {
  /** The folder in which the script and the bodies are stored, under the name. */
  readonly folder: string;
  readonly name: string;
  readonly bodies: readonly string[];
  readonly requestPath: string;
  readonly connections?: number;
}

export class Wrk {
  readonly #script: string;
  readonly #bodies: string;
  readonly #path: string;
  readonly #connections: number;

  constructor({ folder, name, bodies, requestPath, connections = CONNECTIONS }: WrkOptions) {
    this.#script = path.join(folder, `${name}.lua`);
    this.#bodies = path.join(folder, `${name}.txt`);
    this.#path = requestPath;
    this.#connections = connections;
    writeFileSync(this.#script, SCRIPT);
    writeFileSync(this.#bodies, `${bodies.join('\n')}\n`);
  }

  /**
   * Sends load to a port of this machine. No other child process may end meanwhile, because its
   * processor time would be counted, too.
   */
  async load(port: number, seconds: number): Promise<Load> {
    const cpuBefore = cpuSecondsOfEnded();
    const { requests, microseconds, preparation } = await this.#run(port, seconds);
    const cpuSeconds = cpuSecondsOfEnded() - cpuBefore - preparation;
    return { requests, requestsPerSecond: (requests / microseconds) * 1e6, cpuSeconds };
  }

  /**
   * Sends load to several ports at once, each from a separate wrk, and returns the total of
   * requests/s.
   */
  async measureTogether(ports: readonly number[], seconds: number): Promise<number> {
    const loads = ports.map(async (port) => {
      const { requests, microseconds } = await this.#run(port, seconds);
      return (requests / microseconds) * 1e6;
    });
    return (await Promise.all(loads)).reduce((sum, perSecond) => sum + perSecond, 0);
  }

  async #run(port: number, seconds: number): Promise<Report> {
    const length = [`-d${seconds}s`, '--timeout', `${TIMEOUT_SECONDS}s`];
    const options = ['-t1', `-c${this.#connections}`, ...length, '-s', this.#script];
    const args = [...options, `http://127.0.0.1:${port}`, '--', this.#path, this.#bodies];
    const { stdout } = await promisify(execFile)('wrk', args);
    return parseReport(stdout);
  }
}

/** Returns the report; throws if a request failed, for example because an answer was not a 2xx. */
function parseReport(output: string): Report {
  const report: Report = JSON.parse(output.trim().split('\n').at(-1) ?? '');
  if (report.failures > 0) throw new Error(`${report.failures} requests failed:\n${output}`);
  return report;
}
