/** An account's value, its margin in use, and how close it is to liquidation. */

import { useMemo } from 'preact/hooks';
import { digitsOfAccount } from '../figures/all-digits.ts';
import type { AccountState } from '../figures/answers.ts';
import { formatPercent, toShare, WHOLE } from '../figures/decimal.ts';
import { headlineOf } from '../figures/headline.ts';
import { marginRatioOf, type Verdict } from '../figures/risk.ts';
import { describeThresholds, levelOfMarginRatio, TONES } from '../figures/risk-levels.ts';
import { changeOver } from '../history/value-change.ts';
import { findRange, type RangeName } from '../history/value-history.ts';
import { Figure, SignedFigure } from '../parts/figure.tsx';
import { Frame } from '../parts/panel.tsx';
import type { View } from '../view/view.ts';
import { ValueChart } from './value-chart.tsx';

interface AccountPanelProps {
  readonly view: View;
  readonly verdict: Verdict;
  chooseRange(range: RangeName): void;
}

export function AccountPanel({ view, verdict, chooseRange }: AccountPanelProps) {
  const { account, history, historyVersion: version, range } = view;
  const state = account.answer?.value;
  const digits =
    state && (() => digitsOfAccount(state, changeOver(history.pointsOf(range), findRange(range))));
  return (
    <Frame name="account" title="Account" view={view} panel={account} digits={digits}>
      {state === undefined ? (
        <p class="empty">{describeWait(view)}</p>
      ) : (
        <div class="account-body">
          <div class="account-figures">
            <Stats state={state} />
            <Health state={state} verdict={verdict} />
            <p class="thresholds muted small">{describeThresholds()}</p>
          </div>
          <ValueChart {...{ history, version, range, chooseRange }} />
        </div>
      )}
    </Frame>
  );
}

function describeWait({ account, freshness }: View): string {
  if (account.refusal !== undefined) return 'There is no answer.';
  const upstream = freshness?.follow?.upstream;
  return upstream === undefined ? 'Asking…' : `Asking… A new address is read from ${upstream}.`;
}

function Stats({ state }: { state: AccountState }) {
  const { accountValue, totalMarginUsed, totalNtlPos } = state.marginSummary;
  return (
    <dl class="stats">
      <Stat label="Account value" field="accountValue" text={accountValue} isMain />
      <Stat label="Margin used" field="totalMarginUsed" text={totalMarginUsed} />
      <Stat label="Withdrawable" field="withdrawable" text={state.withdrawable} />
      <Stat label="Position value" field="totalNtlPos" text={totalNtlPos} />
      <HeadlineStats state={state} />
    </dl>
  );
}

function HeadlineStats({ state }: { state: AccountState }) {
  const { unrealizedPnl, leverage, long, short, net, nearest } = useMemo(
    () => headlineOf(state),
    [state],
  );
  return (
    <>
      <div class="stat">
        <dt>Unrealized profit</dt>
        <dd>
          <SignedFigure text={unrealizedPnl} field="unrealizedPnl" />
        </dd>
      </div>
      {leverage !== undefined && (
        <Stat label="Leverage" field="accountLeverage" text={leverage} suffix="×" />
      )}
      <Stat label="Long" field="long" text={long} />
      <Stat label="Short" field="short" text={short} />
      <Stat label="Net exposure" field="net" text={net} />
      {nearest !== undefined && (
        <div class="stat">
          <dt>Nearest liquidation</dt>
          <dd class="figure" data-field="nearestLiquidation">
            {nearest.coin}, {nearest.distance}
          </dd>
        </div>
      )}
    </>
  );
}

interface StatProps {
  readonly label: string;
  readonly field: string;
  readonly text: string;
  readonly suffix?: string;
  readonly isMain?: boolean;
}

function Stat({ label, field, text, suffix = '', isMain = false }: StatProps) {
  return (
    <div class={isMain ? 'stat stat-main' : 'stat'}>
      <dt>{label}</dt>
      <dd>
        <Figure text={text} field={field} decimals={2} suffix={suffix} />
      </dd>
    </div>
  );
}

/** The verdict is about all dexes, the gauge and what is below it about the one that is shown. */
function Health({ state, verdict }: { state: AccountState; verdict: Verdict }) {
  const ratio = marginRatioOf(state);
  const share = ratio === undefined ? 1 : toShare(ratio, WHOLE);
  const level = ratio === undefined ? 'danger' : levelOfMarginRatio(ratio);
  const percent = ratio === undefined ? 'over 100' : formatPercent(ratio);
  const { word, culprit } = verdict;
  const isAtRisk = culprit !== '';
  return (
    <div class="health">
      <Gauge share={share} tone={TONES[level]} text={`${percent} %`}>
        {`${percent} %`}
      </Gauge>
      <p class="health-words">
        <strong class={`verdict ${isAtRisk ? TONES[verdict.level] : 'muted'}`}>{word}</strong>
        {isAtRisk && <span class="culprit">{culprit}</span>}
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
        </span>
      </p>
    </div>
  );
}

interface GaugeProps {
  readonly share: number;
  readonly tone: string;
  readonly text: string;
  readonly children: string;
}

/** A half circle, filled from the left, with marks at the thresholds. */
function Gauge({ share, tone, text, children }: GaugeProps) {
  const arc = 'M 10 55 A 45 45 0 0 1 100 55';
  return (
    // biome-ignore lint/a11y/useSemanticElements: the element of that name cannot hold a drawing.
    <div
      class="gauge"
      role="meter"
      aria-label="Margin health: cross maintenance against cross account value"
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
        <path
          class="gauge-mark"
          d={arc}
          pathLength="100"
          stroke-dasharray="0 50 0.8 29.2 0.8 200"
        />
      </svg>
      <span class="gauge-text figure" data-field="maintenanceShare">
        {children}
      </span>
    </div>
  );
}
