/** The fields for the limits of an account. */

import {
  readThreshold,
  THRESHOLD_NAMES,
  type ThresholdName,
  type Thresholds,
} from '../figures/alarms.ts';

interface LimitField {
  readonly label: string;
  readonly unit: string;
}

const FIELDS: Readonly<Record<ThresholdName, LimitField>> = {
  distance: { label: 'Distance to liquidation below', unit: '%' },
  marginRatio: { label: 'Cross margin used over', unit: '%' },
  value: { label: 'Account value below', unit: 'USDC' },
  age: { label: 'Data older than', unit: 's' },
};

export type LimitDrafts = Readonly<Partial<Record<ThresholdName, string>>>;

/** Returns the limits that were typed; returns undefined if one of them is invalid. */
export function readLimits(drafts: LimitDrafts): Thresholds | undefined {
  const limits: Partial<Record<ThresholdName, string>> = {};
  for (const name of THRESHOLD_NAMES) {
    const limit = readThreshold(drafts[name] ?? '');
    if (limit === undefined) return undefined;
    if (limit !== '') limits[name] = limit;
  }
  return limits;
}

interface LimitFieldsProps {
  readonly drafts: LimitDrafts;
  change(drafts: LimitDrafts): void;
}

export function LimitFields({ drafts, change }: LimitFieldsProps) {
  return (
    <fieldset class="limits">
      <legend>Limits</legend>
      {THRESHOLD_NAMES.map((name) => {
        const { label, unit } = FIELDS[name];
        const isWrong = readThreshold(drafts[name] ?? '') === undefined;
        return (
          <label key={name} class="limit">
            <span>{label}</span>
            <span class="limit-input">
              <input
                inputMode="decimal"
                autocomplete="off"
                name={name}
                value={drafts[name] ?? ''}
                aria-invalid={isWrong}
                onInput={({ currentTarget }) => change({ ...drafts, [name]: currentTarget.value })}
              />
              <span class="muted">{unit}</span>
            </span>
            {isWrong && (
              <span class="loss small" role="alert">
                Expected a number over 0, or nothing.
              </span>
            )}
          </label>
        );
      })}
    </fieldset>
  );
}
