/** An account's value, its margin in use, and how close it is to liquidation. */

import { useMemo } from 'preact/hooks';
import { pickDex, totalsOf } from '../figures/all-dexes.ts';
import { digitsOfAccount } from '../figures/all-digits.ts';
import type { States } from '../figures/answers.ts';
import { toShare, WHOLE } from '../figures/decimal.ts';
import { headlineOf } from '../figures/headline.ts';
import { findTightest, marginRatioOf, type Verdict } from '../figures/risk.ts';
import {
  describeThresholds,
  formatMarginRatio,
  LEVEL_TONES,
  levelOfMarginRatio,
  marginRatioMarks,
} from '../figures/risk-levels.ts';
import { describeDex } from '../figures/text.ts';
import { changeOver, type ValueChange } from '../history/value-change.ts';
import { findRange, type RangeName } from '../history/value-history.ts';
import { dashesAt } from '../parts/dashes.ts';
import { Figure, SignedFigure } from '../parts/figure.tsx';
import { Frame } from '../parts/panel.tsx';
import { Stat } from '../parts/stat.tsx';
import type { View } from '../view/store.ts';
import {
  ArchiveChart,
  type ArchiveChartActions,
  changeOfLine,
  useArchiveLine,
} from './archive-chart.tsx';
import { ValueChart } from './value-chart.tsx';

interface AccountPanelProps {
  readonly view: View;
  readonly verdict: Verdict;
  readonly actions: ChartActions;
}

export interface ChartActions extends ArchiveChartActions {
  chooseRange(range: RangeName): void;
}

export function AccountPanel({ view, verdict, actions }: AccountPanelProps) {
  const { account, dex, history, historyVersion: version, range } = view;
  const all = account.answer?.value;
  const states = useMemo(() => all && pickDex(all, dex), [all, dex]);
  const scope = dex === undefined ? 'all dexes' : describeDex(dex);
  const extra = (all?.length ?? 0) > 1 && <span class="tag">{scope}</span>;
  const line = useArchiveLine(view);
  const change = () => (line === undefined ? changeSeen(view) : changeOfLine(line));
  const digits = states?.length ? () => digitsOfAccount(states, change()) : undefined;
  return (
    <Frame name="account" title="Account" view={view} panel={account} {...{ extra, digits }}>
      {states === undefined ? (
        <p class="empty">{describeWait(view)}</p>
      ) : states.length === 0 ? (
        <p class="empty">There is no dex “{dex}” here.</p>
      ) : (
        <div class="account-body">
          <div class="account-figures">
            <Stats states={states} />
            <Health states={states} verdict={verdict} />
            <p class="thresholds muted small">{describeThresholds()}</p>
          </div>
          {line === undefined ? (
            <ValueChart {...{ history, version, range }} chooseRange={actions.chooseRange} />
          ) : (
            <ArchiveChart {...{ view, line, actions }} />
          )}
        </div>
      )}
    </Frame>
  );
}

function changeSeen({ history, range }: View): ValueChange | undefined {
  return changeOver(history.pointsOf(range), findRange(range));
}

function describeWait({ account, freshness }: View): string {
  if (account.refusal !== undefined) return 'There is no answer.';
  const upstream = freshness?.follow?.upstream;
  return upstream === undefined ? 'Asking…' : `Asking… A new address is read from ${upstream}.`;
}

function Stats({ states }: { states: States }) {
  const totals = useMemo(() => totalsOf(states), [states]);
  const { accountValue, totalMarginUsed, totalNtlPos, withdrawable } = totals;
  return (
    <dl class="stats">
      <Stat label="Account value" size="main">
        <Figure text={accountValue} field="accountValue" decimals={2} />
      </Stat>
      <UsdStat label="Margin used" field="totalMarginUsed" text={totalMarginUsed} />
      <UsdStat label="Withdrawable" field="withdrawable" text={withdrawable} />
      <UsdStat label="Position value" field="totalNtlPos" text={totalNtlPos} />
      <HeadlineStats states={states} />
    </dl>
  );
}

function UsdStat({ label, field, text }: { label: string; field: string; text: string }) {
  return (
    <Stat label={label}>
      <Figure text={text} field={field} decimals={2} />
    </Stat>
  );
}

function HeadlineStats({ states }: { states: States }) {
  const { unrealizedPnl, leverage, long, short, net, nearest } = useMemo(
    () => headlineOf(states),
    [states],
  );
  return (
    <>
      <Stat label="Unrealized profit">
        <SignedFigure text={unrealizedPnl} field="unrealizedPnl" />
      </Stat>
      {leverage !== undefined && (
        <Stat label="Leverage">
          <Figure text={leverage} field="accountLeverage" decimals={2} suffix="×" />
        </Stat>
      )}
      <UsdStat label="Long" field="long" text={long} />
      <UsdStat label="Short" field="short" text={short} />
      <UsdStat label="Net exposure" field="net" text={net} />
      {nearest !== undefined && (
        <Stat label="Nearest liquidation" size="wide" field="nearestLiquidation">
          {nearest.coin}, {nearest.distance}
        </Stat>
      )}
    </>
  );
}

/**
 * The verdict is about all dexes. The gauge is about one dex: the tightest of the dexes that are
 * shown.
 */
function Health({ states, verdict }: { states: States; verdict: Verdict }) {
  const tightest = useMemo(() => findTightest(states), [states]);
  if (tightest === undefined) return null;
  const [dex, state] = tightest;
  const where = states.length > 1 ? ` on ${describeDex(dex)}` : '';
  const ratio = marginRatioOf(state);
  const share = ratio === undefined ? 1 : toShare(ratio, WHOLE);
  const level = ratio === undefined ? 'danger' : levelOfMarginRatio(ratio);
  const percent = ratio === undefined ? 'over 100' : formatMarginRatio(ratio);
  const { word, cause } = verdict;
  const isAtRisk = cause !== '';
  return (
    <div class="health">
      <Gauge share={share} tone={LEVEL_TONES[level]} text={`${percent} %`} where={where}>
        {`${percent} %`}
      </Gauge>
      <p class="health-words">
        <strong
          class={`verdict ${isAtRisk ? LEVEL_TONES[verdict.level] : 'muted'}`}
          data-field="verdict"
        >
          {word}
        </strong>
        {isAtRisk && (
          <span class="cause" data-field="cause">
            {cause}
          </span>
        )}
        <span class="muted small">
          maintenance{' '}
          <Figure
            text={state.crossMaintenanceMarginUsed}
            field="crossMaintenanceMarginUsed"
            decimals={2}
          />{' '}
          of{' '}
          <Figure
            text={state.crossMarginSummary.accountValue}
            field="crossAccountValue"
            decimals={2}
          />{' '}
          cross account value
          {where !== '' && <span data-field="tightestDex">{where}</span>}
        </span>
      </p>
    </div>
  );
}

interface GaugeProps {
  readonly share: number;
  readonly tone: string;
  readonly text: string;
  /** The name of the dex; empty if the account uses only one dex. */
  readonly where: string;
  readonly children: string;
}

const MARK_DASHES = dashesAt(marginRatioMarks());

/** A half circle that is filled from the left, with marks at the thresholds. */
function Gauge({ share, tone, text, where, children }: GaugeProps) {
  const arc = 'M 10 55 A 45 45 0 0 1 100 55';
  return (
    // biome-ignore lint/a11y/useSemanticElements: the element of that name cannot hold a drawing.
    <div
      class="gauge"
      role="meter"
      aria-label={`Margin health${where}: cross maintenance against cross account value`}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share * 100)}
      aria-valuetext={text}
    >
      <svg viewBox="0 0 110 62" aria-hidden="true">
        <path class="gauge-track" d={arc} pathLength="100" />
        <path
          class={`gauge-fill ${tone}`}
          d={arc}
          pathLength="100"
          stroke-dasharray={`${share * 100} 200`}
        />
        <path class="gauge-mark" d={arc} pathLength="100" stroke-dasharray={MARK_DASHES} />
      </svg>
      <span class="gauge-text figure" data-field="maintenanceShare">
        {children}
      </span>
    </div>
  );
}
