/** An account of which a test chooses what matters to it. */

import type { AccountState, Position } from '../../../web/src/figures/answers.ts';

interface Wish {
  readonly value?: string;
  readonly maintenance?: string;
  readonly positions?: readonly Position[];
}

export function accountState({
  value = '1000.0',
  maintenance = '0.0',
  positions = [],
}: Wish): AccountState {
  const summary = {
    ...{ accountValue: value, totalNtlPos: '0.0', totalRawUsd: '0.0', totalMarginUsed: '0.0' },
  };
  return {
    marginSummary: summary,
    crossMarginSummary: summary,
    crossMaintenanceMarginUsed: maintenance,
    withdrawable: '0.0',
    assetPositions: positions.map((position) => ({ type: 'oneWay', position })),
    time: 0,
  };
}
