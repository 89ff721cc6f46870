/** Load from wrk: one thread, kept-alive connections, a random user in every request. */

import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

const CONNECTIONS = 64;
/** An answer later than this counts as failed. */
const TIMEOUT_SECONDS = 30;
/** Long enough for a server to accept all connections while nothing is asked yet. */
const QUIET_MS = 500;

/** What one round measured: latencies with all connections open before the first request. */
export interface Round {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** What the script reports when a round is over; latencies in microseconds. */
interface Report {
  readonly requests: number;
  readonly microseconds: number;
  readonly p50: number;
  readonly p99: number;
  readonly failures: number;
}

/**
 * All requests are laid out before the first one is sent, so that wrk has little to do in between.
 * Where there is a quiet time, the first request of each connection waits for it.
 */
const SCRIPT = `
local requests = {}
local waiting = ${CONNECTIONS}

local function quietFirst(milliseconds)
  return function()
    waiting = waiting - 1
    return waiting >= 0 and milliseconds or 0
  end
end

function init(args)
  local path, users, quiet = args[1], args[2], tonumber(args[3])
  if quiet > 0 then delay = quietFirst(quiet) end
  local headers = { ["Content-Type"] = "application/json" }
  for user in io.lines(users) do
    local body = '{"type":"clearinghouseState","user":"' .. user .. '"}'
    requests[#requests + 1] = wrk.format("POST", path, headers, body)
  end
  math.randomseed(os.time())
end

function request()
  return requests[math.random(#requests)]
end

function done(summary, latency)
  local errors = summary.errors
  local failures = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format(
    '\\n{"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"failures":%d}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), failures))
end
`;

export class Wrk {
  readonly #script: string;
  readonly #users: string;
  readonly #path: string;

  /** Writes the script and the users into the folder; the path is what all requests ask for. */
  constructor(folder: string, users: readonly string[], requestPath: string) {
    this.#script = path.join(folder, 'load.lua');
    this.#users = path.join(folder, 'users.txt');
    this.#path = requestPath;
    writeFileSync(this.#script, SCRIPT);
    writeFileSync(this.#users, `${users.join('\n')}\n`);
  }

  /**
   * Loads a port of this machine, twice for so long. Node accepts one connection in each turn of
   * its loop, so those that wrk opens at once wait for one another, which would be most of the p99.
   * So latency is measured with a quiet start. That slows wrk down, so requests/s are not.
   */
  measure(port: number, seconds: number): Round {
    const throughput = this.#load(port, seconds, 0);
    const latency = this.#load(port, seconds, QUIET_MS);
    return {
      requestsPerSecond: (throughput.requests / throughput.microseconds) * 1e6,
      p50Ms: latency.p50 / 1000,
      p99Ms: latency.p99 / 1000,
    };
  }

  /** Loads several ports at once, each from a wrk of its own, and returns the requests/s of all. */
  async measureTogether(ports: readonly number[], seconds: number): Promise<number> {
    const loads = ports.map(async (port) => {
      const { stdout } = await promisify(execFile)('wrk', this.#arguments(port, seconds, 0));
      const { requests, microseconds } = parseReport(stdout);
      return (requests / microseconds) * 1e6;
    });
    return (await Promise.all(loads)).reduce((sum, perSecond) => sum + perSecond, 0);
  }

  #load(port: number, seconds: number, quietMs: number): Report {
    const { status, stdout } = spawnSync('wrk', this.#arguments(port, seconds, quietMs), {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (status !== 0) throw new Error(`wrk ended with ${status}`);
    return parseReport(stdout);
  }

  #arguments(port: number, seconds: number, quietMs: number): string[] {
    const length = [`-d${seconds}s`, '--timeout', `${TIMEOUT_SECONDS}s`];
    const options = ['-t1', `-c${CONNECTIONS}`, ...length, '-s', this.#script];
    const scriptArguments = [this.#path, this.#users, String(quietMs)];
    return [...options, `http://127.0.0.1:${port}`, '--', ...scriptArguments];
  }
}

/** An answer that is not a 2xx fails the run. */
function parseReport(output: string): Report {
  const report: Report = JSON.parse(output.trim().split('\n').at(-1) ?? '');
  if (report.failures > 0) throw new Error(`${report.failures} requests failed:\n${output}`);
  return report;
}
