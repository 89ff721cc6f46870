/** The actions that a person can take on the page. main.tsx implements all of them. */

import type { ChartActions } from './account/account.tsx';
import type { BoardActions } from './board/board.tsx';
import type { Sort } from './figures/position-figures.ts';
import type { Move } from './figures/what-if.ts';
import type { TimeActions } from './time-bar.tsx';

export interface Actions extends BoardActions, ChartActions, TimeActions {
  useKey(key: string): void;
  forgetKey(isWithAddresses: boolean): void;
  /** Shows an account on one dex, or on all dexes if `dex` is undefined. */
  select(user: string, dex: string | undefined): void;
  sortBy(sort: Sort | undefined): void;
  /** Shows the account as if marks had moved; undefined closes "What if". */
  setWhatIf(move: Move | undefined): void;
  /** Sets the interval between new figures. */
  setPace(paceMs: number): void;
  /** Shows for some seconds a sentence about what was done. */
  showNotice(notice: string): void;
}
