/**
 * Asks the archive for the series of the chart if another series is chosen, or if the series is
 * old.
 */

import type { Answer } from '../figures/answers.ts';
import {
  type HistoryRow,
  joinLiquidations,
  type Liquidation,
  spanUntil,
  stepOf,
  subjectOf,
  sumRows,
  type TimeSpan,
} from '../history/archive-series.ts';
import { ask, Refusal } from '../service/service.ts';
import { dexesShown } from '../view/selectors.ts';
import type { View } from '../view/store.ts';
import type { LiveData } from './live-data.ts';

/**
 * The maximum age of a series. Until then, live states continue the line. A question costs 50 of
 * the budget for each dex, and 31 for each position.
 */
const OLD_MS_MAX = 300_000;
/**
 * The minimum age before a series is old. It is short, because a new archive multiplies its length
 * within seconds.
 */
const OLD_MS_MIN = 10_000;
const OLD_SHARE = 0.25;
/** While a person moves through time, the chart waits until the person stops. */
const PAST_DELAY_MS = 500;
const RETRY_MS = 30_000;

function oldMsOf({ from, to }: TimeSpan): number {
  return Math.min(OLD_MS_MAX, Math.max(OLD_MS_MIN, (to - from) * OLD_SHARE));
}

interface Wanted {
  /** Identifies the request. The name of a growing line does not have the end of the line. */
  readonly name: string;
  readonly user: string;
  readonly dexes: readonly string[];
  readonly span: TimeSpan;
}

export class ArchiveSeriesWatch {
  readonly #live: LiveData;
  #name = '';
  #askedTo = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(live: LiveData) {
    this.#live = live;
  }

  /** Call this with every view. */
  follow(view: View): void {
    const wanted = findWanted(view);
    if (wanted === undefined) return;
    const { name, span } = wanted;
    if (name === this.#name && span.to - this.#askedTo < oldMsOf(span)) return;
    this.#name = name;
    this.#askedTo = span.to;
    clearTimeout(this.#timer);
    const delayMs = view.at === undefined ? 0 : PAST_DELAY_MS;
    this.#timer = setTimeout(() => void this.#ask(wanted), delayMs);
  }

  async #ask({ name, user, dexes, span }: Wanted): Promise<void> {
    const { key } = this.#live.view;
    this.#live.setArchiveRefusal(undefined);
    const stepMs = stepOf(span);
    try {
      const [lists, happened] = await Promise.all([
        askAll<HistoryRow>(key, dexes, { type: 'accountHistory', user, ...span, step: stepMs }),
        askLiquidations(key, dexes, { user, ...span }),
      ]);
      if (name !== this.#name) return;
      const rows = sumRows(lists);
      const liquidations = joinLiquidations(happened);
      const subject = subjectOf(user, dexes);
      this.#live.setArchiveSeries({ subject, span, stepMs, rows, liquidations });
    } catch (error) {
      if (name !== this.#name) return;
      const refusal = error instanceof Refusal ? error : new Refusal(String(error));
      this.#live.setArchiveRefusal(refusal);
      this.#timer = setTimeout(
        () => {
          this.#name = '';
        },
        Math.max(RETRY_MS, refusal.retryAfterMs),
      );
    }
  }
}

/** Returns the series that the view needs; returns undefined if there is nothing to ask. */
function findWanted(view: View): Wanted | undefined {
  const { key, keyProblem, user, at, zoom, account, freshness, isBoard } = view;
  const archive = freshness?.archive;
  const { answer } = account;
  if (key === '' || keyProblem !== '' || isBoard || user === '') return undefined;
  if (archive === undefined || answer === undefined) return undefined;
  if (at !== undefined && answer.height !== at) return undefined;
  const end = at === undefined ? archive.lastTime : answer.time;
  const span = zoom ?? spanUntil(view.span, end, archive.firstTime);
  const dexes = dexesShown(view);
  const isGrowing = zoom === undefined && at === undefined;
  const what = [subjectOf(user, dexes), isGrowing ? view.span : [span.from, span.to], key];
  return { name: JSON.stringify(what), user, dexes, span };
}

interface SeriesQuestion extends TimeSpan {
  readonly type: string;
  readonly user: string;
  readonly step?: number;
}

/** Returns the rows of each dex, without the dexes that did not exist yet. */
async function askAll<Row>(
  key: string,
  dexes: readonly string[],
  question: SeriesQuestion,
): Promise<(readonly Row[])[]> {
  const lists = await Promise.all(dexes.map((dex) => askRows<Row>(key, { ...question, dex })));
  return lists.filter((list) => list !== undefined);
}

/**
 * Returns the liquidations on each dex. Returns no liquidations if the account has too many changes
 * for one answer, because the chart has no room for them either.
 */
async function askLiquidations(
  key: string,
  dexes: readonly string[],
  asked: Omit<SeriesQuestion, 'type'>,
): Promise<(readonly Liquidation[])[]> {
  try {
    return await askAll<Liquidation>(key, dexes, { type: 'liquidationHistory', ...asked });
  } catch (error) {
    if (error instanceof Refusal && error.code === 'invalid_field') return [];
    throw error;
  }
}

/** Returns the rows of a dex; returns undefined if the dex did not exist yet. */
async function askRows<Row>(
  key: string,
  question: SeriesQuestion & { readonly dex: string },
): Promise<readonly Row[] | undefined> {
  try {
    return ((await ask(key, question)) as Answer<readonly Row[]>).value;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'unknown_dex') return undefined;
    throw error;
  }
}
