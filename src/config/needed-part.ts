/**
 * Some settings have an effect only if the service has a certain part, such as a follower. Without the part, the
 * flag of such a setting is refused. A variable only causes a warning, because other commands may use it.
 */

import { isOnNats } from './nats-address.ts';

type Values = Readonly<Record<string, unknown>>;

interface NeededPart {
  /** True if the process has the part. A command without a setting for the part always has the part. */
  isThere(values: Values): boolean;
  /** The text of the error about a flag. */
  readonly refusal: string;
  /** The text of the warning about a variable. */
  readonly absence: string;
}

const PARTS = {
  nats: {
    isThere: isOnNats,
    refusal: 'only for a ledger on NATS, and none is named',
    absence: 'the ledger is in a folder, not on NATS',
  },
  writer: {
    isThere: (values) =>
      !('feed' in values) || isNamed(values, 'feed') || isNamed(values, 'follow'),
    refusal: 'only with --feed or --follow, since this service writes no blocks without them',
    absence: 'this service writes no blocks, without --feed and --follow',
  },
  follower: {
    isThere: (values) => !('follow' in values) || isNamed(values, 'follow'),
    refusal: 'only with --follow, since this service follows no exchange without it',
    absence: 'this service follows no exchange, without --follow',
  },
  archiver: {
    isThere: (values) => !('archive' in values) || values['archive'] === true,
    refusal: 'only with --archive, since this service writes no archive without it',
    absence: 'this service writes no archive, without --archive',
  },
} as const satisfies Record<string, NeededPart>;

export type PartName = keyof typeof PARTS;

function isNamed(values: Values, name: string): boolean {
  return values[name] !== undefined;
}

/**
 * Returns the first needed part that is missing; returns undefined if no part is missing. `values`
 * has the values of a command's settings.
 */
export function findAbsentPart(needs: readonly PartName[], values: Values): NeededPart | undefined {
  return needs.map((name): NeededPart => PARTS[name]).find((part) => !part.isThere(values));
}
