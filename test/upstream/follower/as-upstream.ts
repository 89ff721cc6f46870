/** Our own answers, written as an exchange's own server writes them. */

import { answerQuestion } from '../../../src/info/read-question.ts';
import type { Random } from '../../../src/simulator/random.ts';
import type { StateView } from '../../../src/state/state.ts';

interface AnsweredSummary {
  accountValue: string;
  totalNtlPos: string;
  totalRawUsd: string;
  totalMarginUsed: string;
}

export interface AnsweredPosition {
  coin: string;
  szi: string;
  leverage: { type: string; value: number; rawUsd?: string };
  entryPx: string;
  positionValue: string;
  unrealizedPnl: string;
  returnOnEquity: string;
  liquidationPx: string | null;
  marginUsed: string;
  maxLeverage: number;
  cumFunding: { allTime: string; sinceOpen: string; sinceChange: string };
}

export interface AnsweredAccount {
  marginSummary: AnsweredSummary;
  crossMarginSummary: AnsweredSummary;
  crossMaintenanceMarginUsed: string;
  withdrawable: string;
  assetPositions: { type: string; position: AnsweredPosition }[];
  time: number;
}

export function askAccount(state: StateView, user: string, dex: string): AnsweredAccount {
  return JSON.parse(answerQuestion(state, { type: 'clearinghouseState', user, dex }));
}

/** About as far as sums and quotients of doubles are off. */
const NOISE = 2 ** -48;
/** Below it, JavaScript writes an exponent, which the dialect never does. */
const PLAIN_MIN = 1e-6;

function addNoise(text: string, random: Random): string {
  const noisy = Number(text) * (1 + random.between(-NOISE, NOISE));
  return Math.abs(noisy) < PLAIN_MIN ? noisy.toFixed(20) : String(noisy);
}

/** The answer with noise in its ratios, without rawUsd on cross, with rows of size zero. */
export function renderAsUpstream(answer: AnsweredAccount, random: Random): AnsweredAccount {
  const copy = structuredClone(answer);
  for (const { position } of copy.assetPositions) {
    if (position.leverage.type === 'cross') delete position.leverage.rawUsd;
    position.returnOnEquity = addNoise(position.returnOnEquity, random);
    if (position.liquidationPx !== null) {
      position.liquidationPx = addNoise(position.liquidationPx, random);
    }
  }
  if (random.chance(0.3)) insertZeroRow(copy, random);
  return copy;
}

function insertZeroRow({ assetPositions }: AnsweredAccount, random: Random): void {
  const position = { coin: 'BTC', szi: random.pick(['0.0', '0', '-0.0']), entryPx: null };
  const row = { type: 'oneWay', position } as unknown as AnsweredAccount['assetPositions'][number];
  assetPositions.splice(random.below(assetPositions.length + 1), 0, row);
}
