/**
 * The page's types of answers are those that the schemas of the service describe. The compiler checks
 * it, in both directions; test/docs/openapi.test.ts holds answers and schemas together.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Described } from '../../src/info/schema.ts';
import { accountExample, accountSchema } from '../../src/info/types/clearinghouse-state.ts';
import type { delegationsSchema } from '../../src/info/types/delegations.ts';
import type { auctionSchema } from '../../src/info/types/perp-deploy-auction-status.ts';
import type { FollowStatus } from '../../src/upstream/channel/follower-client.ts';
import type {
  AccountState,
  Auction,
  Delegation,
  FollowReport,
} from '../../web/src/figures/answers.ts';

/** Fails to compile unless each of the two types can be assigned to the other. */
function assertSame<A extends B, B extends C, C = A>(): void {}

test('the page reads what the service answers, and nothing else', () => {
  assertSame<AccountState, Described<typeof accountSchema>>();
  assertSame<readonly Delegation[], Described<typeof delegationsSchema>>();
  assertSame<Auction | null, Described<typeof auctionSchema>>();
  assertSame<FollowReport, FollowStatus>();
});

test('the check finds a field too many and one too few', () => {
  // @ts-expect-error
  assertSame<Delegation & { readonly more: string }, Delegation>();
  // @ts-expect-error
  assertSame<Omit<Delegation, 'amount'>, Delegation>();
});

test("a schema's type has the fields of its example", () => {
  const { properties } = accountSchema as { properties?: object };
  assert.deepEqual(Object.keys(properties ?? {}), Object.keys(accountExample));
});
