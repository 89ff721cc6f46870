/**
 * Seeds that once found a bug, with a description of the bug. Every test run repeats these seeds.
 */

export interface KeptSeed {
  readonly seed: string;
  readonly found: string;
}

export const KEPT_SEEDS: readonly KeptSeed[] = [
  {
    seed: 'venue/1/1',
    found:
      'a poll was told that nothing had changed, of an account that a partial ledger does not hold',
  },
  {
    seed: 'nats/103/209',
    found: 'a reader skipped a block that had arrived just before its delivery broke off',
  },
  {
    seed: 'venue/101/360',
    found: 'a pruned ledger was called broken, since its snapshot could not be read for a moment',
  },
  {
    seed: 'venue/1/85',
    found: 'verify called a ledger damaged whose blocks were pruned while it ran',
  },
  {
    seed: 'venue/20261117/2455',
    found:
      'a worker called a ledger broken that was pruned between its base and its snapshot being read',
  },
  {
    seed: 'venue/20261117/4262',
    found: 'health said "caught up" of a ledger whose newest block it could not read',
  },
];
