/**
 * Settings that say something about a part of the service, and nothing where that part is not there. As a
 * flag, such a setting is refused. A variable may be meant for other commands, so it is only a warning.
 */

import { isOnNats } from './nats-address.ts';

type Values = Readonly<Record<string, unknown>>;

interface NeededPart {
  /** Whether there is one; a command that has no setting for it has it always. */
  isThere(values: Values): boolean;
  /** Why a flag is refused. */
  readonly refusal: string;
  /** Why a variable is ignored. */
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

/** The first of the parts that is not there; undefined if all are. `values` are those of a command. */
export function findAbsentPart(needs: readonly PartName[], values: Values): NeededPart | undefined {
  return needs.map((name): NeededPart => PARTS[name]).find((part) => !part.isThere(values));
}
