/** An account's value, its margin in use, and how close it is to liquidation. */

import type { AccountState } from './answers.ts';
import { divideRounded, formatPercent, parseDecimal, toShare } from './decimal.ts';
import { Figure } from './figure.tsx';
import { Frame } from './panel.tsx';
import { ValueChart } from './value-chart.tsx';
import type { View } from './view.ts';

export function AccountPanel({ view }: { view: View }) {
  const { account, history, historyVersion } = view;
  const state = account.answer?.value;
  return (
    <Frame name="account" title="Account" view={view} panel={account}>
      {state === undefined ? (
        <p class="empty">{account.refusal === undefined ? 'Asking…' : 'There is no answer.'}</p>
      ) : (
        <div class="account-body">
          <div class="account-figures">
            <Stats state={state} />
            <Health state={state} />
          </div>
          <ValueChart history={history} version={historyVersion} />
        </div>
      )}
    </Frame>
  );
}

function Stats({ state }: { state: AccountState }) {
  const { accountValue, totalMarginUsed, totalNtlPos } = state.marginSummary;
  return (
    <dl class="stats">
      <Stat label="Account value" field="accountValue" text={accountValue} isMain />
      <Stat label="Margin used" field="totalMarginUsed" text={totalMarginUsed} />
      <Stat label="Withdrawable" field="withdrawable" text={state.withdrawable} />
      <Stat label="Position value" field="totalNtlPos" text={totalNtlPos} />
    </dl>
  );
}

interface StatProps {
  readonly label: string;
  readonly field: string;
  readonly text: string;
  readonly isMain?: boolean;
}

function Stat({ label, field, text, isMain = false }: StatProps) {
  return (
    <div class={isMain ? 'stat stat-main' : 'stat'}>
      <dt>{label}</dt>
      <dd>
        <Figure text={text} field={field} decimals={2} />
      </dd>
    </div>
  );
}

interface Verdict {
  readonly word: string;
  readonly tone: string;
}

/** Whether an isolated position has lost its margin, or the whole account is negative. */
function isLost({ marginSummary, assetPositions }: AccountState): boolean {
  const hasLostMargin = assetPositions.some(
    ({ position }) =>
      position.leverage.type === 'isolated' && parseDecimal(position.marginUsed).units <= 0n,
  );
  return hasLostMargin || parseDecimal(marginSummary.accountValue).units < 0n;
}

/** Thresholds of the margin ratio: warn at a half, danger at four fifths. */
function judge(state: AccountState, share: number): Verdict {
  if (state.assetPositions.length === 0) return { word: 'nothing at risk', tone: 'muted' };
  if (isLost(state)) return { word: 'at risk', tone: 'loss' };
  if (share >= 0.8) return { word: 'at risk', tone: 'loss' };
  if (share >= 0.5) return { word: 'watch', tone: 'warn' };
  return { word: 'healthy', tone: 'gain' };
}

/** Liquidation happens where cross maintenance margin reaches cross account value. */
function Health({ state }: { state: AccountState }) {
  const maintenance = parseDecimal(state.crossMaintenanceMarginUsed);
  const value = parseDecimal(state.crossMarginSummary.accountValue);
  const isUncovered = value.units <= 0n && maintenance.units > 0n;
  const share = isUncovered ? 1 : value.units <= 0n ? 0 : toShare(maintenance, value);
  const ratio = value.units <= 0n ? undefined : divideRounded(maintenance, value, 6);
  const percent = ratio === undefined ? (isUncovered ? 'over 100' : '0.00') : formatPercent(ratio);
  const { word, tone } = judge(state, share);
  return (
    <div class="health">
      <Gauge share={share} tone={tone} text={`${percent} %, ${word}`}>
        {`${percent} %`}
      </Gauge>
      <p class="health-words">
        <strong class={tone}>{word}</strong>
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
