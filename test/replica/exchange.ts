/** A small simulated exchange, and the answers of a plain fold of its lines. */

import { createHash } from 'node:crypto';
import { parseBlock } from '../../src/events/event.ts';
import { formatAddress } from '../../src/exact/address.ts';
import { answerQuestion, parseQuestion } from '../../src/info/read-question.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { stateDigest } from '../../src/replica/replica.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState, type StateView } from '../../src/state/state.ts';

const ACCOUNTS = 12;
/** Auctions short enough for several to start and end. */
const AUCTION_DURATION_SECONDS = 900;

/** Its name is longer in bytes than in characters, so that a stream can be cut inside one. */
const FOREIGN_DEX =
  ',{"type":"perpDex","dex":"uni","fullName":"Überfluß 永続 🜚",' +
  '"deployer":"0x00000000000000000000000000000000000000aa"}]}';
const FOREIGN_DEX_HEIGHT = 30;

/** The simulator's lines, some ending in a carriage return, one with more than ASCII in it. */
export function simulateLines(seed: string, count: number): string[] {
  const simulator = createSimulator({
    seed,
    accounts: ACCOUNTS,
    auctionDurationSeconds: AUCTION_DURATION_SECONDS,
  });
  return Array.from({ length: count }, (_, index) => {
    const line = simulator.next();
    const height = index + 1;
    const text = height === FOREIGN_DEX_HEIGHT ? line.replace(/\]\}$/, FOREIGN_DEX) : line;
    return height % 3 === 0 ? `${text}\r` : text;
  });
}

function questionsAbout({ addresses, markets }: StateView): unknown[] {
  const rows = Array.from({ length: addresses.table.rowCount - 1 }, (_, index) => index + 1);
  const users = rows.map((row) => formatAddress(addresses.addressOf(row)));
  return [
    ...users.flatMap((user) =>
      markets.dexes.map(({ name }) => ({ type: 'clearinghouseState', user, dex: name })),
    ),
    ...users.map((user) => ({ type: 'delegations', user })),
    { type: 'perpDeployAuctionStatus' },
  ];
}

/** Everything that can be observed of a state. */
export interface Outlook {
  readonly height: number;
  readonly digest: string;
  /** SHA-256 over the answers to every question about every user, dex and validator. */
  readonly answers: string;
}

/** The answer, or why a partial ledger has none. */
/** The answer and since when it has been the same, or why it is refused. */
function answerOrRefuse(state: StateView, question: unknown): string {
  try {
    return `${answerQuestion(state, question)} ${parseQuestion(question).changedAt(state)}`;
  } catch (error) {
    if (error instanceof RequestError) return error.message;
    throw error;
  }
}

export function outlookOf(state: StateView): Outlook {
  const answers = createHash('sha256');
  for (const question of questionsAbout(state)) answers.update(answerOrRefuse(state, question));
  return { height: state.height, digest: stateDigest(state), answers: answers.digest('hex') };
}

/** The outlook at every height, from 0, by the fold alone: no ledger, no snapshot, no batch. */
export function foldOutlooks(lines: readonly string[]): Outlook[] {
  const state = createState();
  const outlooks = [outlookOf(state)];
  for (const line of lines) {
    applyBlock(state, parseBlock(line));
    outlooks.push(outlookOf(state));
  }
  return outlooks;
}
