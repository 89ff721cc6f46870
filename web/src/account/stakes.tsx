/** The user's delegations: the amount, the share of the total and the unlock time of each. */

import { digitsOfStake, digitsOfStakes } from '../figures/all-digits.ts';
import type { Delegation } from '../figures/answers.ts';
import {
  compare,
  type Decimal,
  divideRounded,
  formatDecimal,
  formatPercent,
  parseDecimal,
  RATIO_DECIMALS,
  sum,
  toShare,
  ZERO,
} from '../figures/decimal.ts';
import { formatDuration, formatTime, shortenAddress } from '../figures/text.ts';
import { DigitsDialog } from '../parts/digits-dialog.tsx';
import { Bar, Figure } from '../parts/figure.tsx';
import { Frame } from '../parts/panel.tsx';
import { CELL, COLUMN_HEADING, ROW, ROW_HEADING, ROWS, TABLE } from '../parts/roles.ts';
import { drawRowButton, useRows } from '../parts/row-buttons.tsx';
import { ledgerNow } from '../view/selectors.ts';
import type { View } from '../view/store.ts';

export function StakesPanel({ view }: { view: View }) {
  const { stakes } = view;
  const delegations = stakes.answer?.value;
  const extra = delegations && <span class="tag">{delegations.length}</span>;
  return (
    <Frame name="stakes" title="Stakes" view={view} panel={stakes} extra={extra}>
      {delegations === undefined ? null : delegations.length === 0 ? (
        <p class="empty">Nothing is delegated by this address.</p>
      ) : (
        <StakesTable delegations={delegations} now={ledgerNow(view)} />
      )}
    </Frame>
  );
}

/** The name of the totals row: a name that no validator has. */
const SUM = '';

function StakesTable({ delegations, now }: { delegations: readonly Delegation[]; now: number }) {
  const total = sum(delegations.map(({ amount }) => amount));
  const validators = delegations.map(({ validator }) => validator);
  const { stop, opened, close, handlers } = useRows([...validators, SUM]);
  const digits = (row: string) => {
    const delegation = delegations.find(({ validator }) => validator === row);
    return delegation === undefined ? digitsOfStakes(delegations) : digitsOfStake(delegation);
  };
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard. */}
      <section class="scroll" tabIndex={0} aria-label="Table of stakes">
        <table {...TABLE} class="stakes" {...handlers}>
          <thead {...ROWS}>
            <tr {...ROW}>
              <th {...COLUMN_HEADING}>Validator</th>
              <th {...COLUMN_HEADING} class="number">
                Amount
              </th>
              <th {...COLUMN_HEADING} class="number">
                Share
              </th>
              <th {...COLUMN_HEADING}>Unlock</th>
            </tr>
          </thead>
          <tbody {...ROWS}>
            {delegations.map((delegation) => (
              <StakeRow
                key={delegation.validator}
                {...{ delegation, total, now }}
                isStop={delegation.validator === stop}
              />
            ))}
          </tbody>
          <tfoot {...ROWS}>
            <tr {...ROW}>
              <th {...ROW_HEADING}>
                {drawRowButton({ name: SUM, label: 'Sum', isStop: stop === SUM })}
              </th>
              <td {...CELL} class="number" data-label="Amount">
                <Figure text={formatDecimal(total)} field="sumAmount" />
              </td>
              <td {...CELL} colSpan={2} />
            </tr>
          </tfoot>
        </table>
      </section>
      {opened !== undefined && (
        <DigitsDialog
          title={opened === SUM ? 'Sum' : 'Stake'}
          figures={digits(opened)}
          close={close}
        />
      )}
    </>
  );
}

interface StakeRowProps {
  readonly delegation: Delegation;
  readonly total: Decimal;
  readonly now: number;
  /** True if Tab reaches this row. */
  readonly isStop: boolean;
}

/** Returns the share as text. A share is never rounded to 0 % or 100 %. */
function describeShare(percent: string, part: Decimal, total: Decimal): string {
  if (percent === '0.00' && part.units > 0n) return '< 0.01';
  return percent === '100.00' && compare(part, total) < 0 ? '> 99.99' : percent;
}

function StakeRow({ delegation, total, now, isStop }: StakeRowProps) {
  const { validator, amount, lockedUntilTimestamp } = delegation;
  const part = parseDecimal(amount);
  const ratio = divideRounded(part, total, RATIO_DECIMALS) ?? ZERO;
  const percent = describeShare(formatPercent(ratio), part, total);
  const leftMs = lockedUntilTimestamp - now;
  return (
    <tr {...ROW} data-validator={validator}>
      <th {...ROW_HEADING} class="address-text">
        {drawRowButton({
          name: validator,
          label: shortenAddress(validator),
          isStop,
          hint: validator,
        })}
      </th>
      <td {...CELL} class="number" data-label="Amount">
        <Figure text={amount} field="amount" />
      </td>
      <td {...CELL} class="number" data-label="Share">
        <span class="share">
          <Bar share={toShare(part, total)} tone="accent" label={`${percent} %`} />
          <span class="figure" data-field="share" title={`${formatPercent(ratio, 6)} %`}>
            {percent} %
          </span>
        </span>
      </td>
      <td
        {...CELL}
        data-label="Unlock"
        data-field="unlock"
        data-time={lockedUntilTimestamp}
        title={formatTime(lockedUntilTimestamp)}
      >
        {leftMs <= 0 ? (
          <span class="gain">✓ unlocked</span>
        ) : (
          <span class="figure">in {formatDuration(leftMs)}</span>
        )}
      </td>
    </tr>
  );
}
