/** `perpDeployAuctionStatus`: timing and gas of the auction for deploying a new contract. */

import { currentGas, formatGas } from '../../state/auction.ts';
import type { StateView } from '../../state/state.ts';
import type { StateQuestionType } from '../question-type.ts';
import { RequestError } from '../request-error.ts';
import { amount, object, orNull, wholeNumber } from '../schema.ts';

const fields = {};

/** @internal Exported for the test that compares it with the page's types. */
export const auctionSchema = orNull(
  object({
    startTimeSeconds: wholeNumber,
    durationSeconds: wholeNumber,
    startGas: amount,
    currentGas: amount,
    endGas: orNull(amount),
  }),
);

export const perpDeployAuctionStatus: StateQuestionType<typeof fields> = {
  source: 'state',
  type: 'perpDeployAuctionStatus',
  group: 'auction',
  summary: 'Timing and gas of the deployment auction; null if there is none.',
  weight: 20,
  fields,
  answerSchema: auctionSchema,
  example: {
    question: { type: 'perpDeployAuctionStatus' },
    answer: {
      startTimeSeconds: 1765623600,
      durationSeconds: 111600,
      startGas: '1830.62376484',
      currentGas: '1369.88262387',
      endGas: null,
    },
  },
  push: { name: 'perpDeployAuctionStatus' },
  validate: requireAuction,
  changedAt(state) {
    requireAuction(state);
    const { auction, auctionChangedAt, height } = state;
    const isRunning = auction !== undefined && auction !== null && auction.endGas === undefined;
    // The price of an auction falls with the time of the ledger.
    return isRunning ? height : auctionChangedAt;
  },
  answer(state) {
    requireAuction(state);
    const { auction, time } = state;
    if (auction === undefined || auction === null) return 'null';
    return (
      `{"startTimeSeconds":${auction.startTimeSeconds}` +
      `,"durationSeconds":${auction.durationSeconds}` +
      `,"startGas":"${formatGas(auction.startGas)}"` +
      `,"currentGas":"${formatGas(currentGas(auction, time))}"` +
      `,"endGas":${auction.endGas === undefined ? 'null' : `"${formatGas(auction.endGas)}"`}}`
    );
  },
};

/** On a partial ledger, an auction that no event has named was not read yet. */
function requireAuction({ isPartial, auction }: StateView): void {
  if (!isPartial || auction !== undefined) return;
  const message = 'this ledger does not hold the auction: it is partial, and no event has named it';
  throw new RequestError('not_ready', message);
}
