/** A position of which a test chooses what matters to it. */

import type { Position } from '../../../web/src/figures/answers.ts';

export function position(coin: string, szi: string, positionValue: string, further = {}): Position {
  return {
    coin,
    szi,
    positionValue,
    leverage: { type: 'cross', value: 5, rawUsd: '0.0' },
    entryPx: '1.0',
    unrealizedPnl: '0.0',
    returnOnEquity: '0.0',
    liquidationPx: null,
    marginUsed: '0.0',
    maxLeverage: 10,
    cumFunding: { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' },
    ...further,
  };
}
