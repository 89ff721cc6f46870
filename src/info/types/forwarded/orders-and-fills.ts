/** Orders, fills and payments of a user, which only the upstream has. */

import type { FieldTable } from '../../fields/field.ts';
import {
  ANY_PERIOD_FIELDS,
  coinField,
  dexNameField,
  flagField,
  optional,
  orderIdField,
  PERIOD_FIELDS,
  USER_AND_DEX_FIELDS,
  USER_FIELDS,
} from '../../fields/market-fields.ts';
import {
  anyOf,
  anyText,
  anything,
  choiceOf,
  decimalText,
  flag,
  listOf,
  openObject,
  orNull,
  tuple,
  wholeNumber,
} from '../../schema.ts';
import { LIGHT, PER_20_OF_500, PER_20_OF_2000 } from '../../upstream-cost.ts';
import { declareForwarded } from './declare-forwarded.ts';

const side = choiceOf('A', 'B');
const ORDER = {
  ...{ coin: anyText, side, limitPx: decimalText, sz: decimalText, oid: wholeNumber },
  ...{ timestamp: wholeNumber, origSz: decimalText },
};
const ORDER_OPTIONAL = { cloid: orNull(anyText), reduceOnly: flag };
const FRONTEND_ORDER = {
  ...ORDER,
  ...{ triggerCondition: anyText, isTrigger: flag, triggerPx: decimalText, orderType: anyText },
  ...{ isPositionTpsl: flag, reduceOnly: flag },
};
const frontendOrder = openObject(FRONTEND_ORDER, {
  ...{ children: listOf(anything), tif: orNull(anyText), cloid: orNull(anyText) },
});
const orderWithStatus = openObject({
  ...{ order: frontendOrder, status: anyText, statusTimestamp: wholeNumber },
});
const fill = openObject(
  {
    ...{ coin: anyText, px: decimalText, sz: decimalText, side, time: wholeNumber },
    ...{ startPosition: decimalText, dir: anyText, closedPnl: decimalText, hash: anyText },
    ...{ oid: wholeNumber, crossed: flag, fee: decimalText, tid: wholeNumber },
  },
  { feeToken: anyText, builderFee: decimalText, cloid: orNull(anyText), twapId: anything },
);
const twapFill = openObject({ fill, twapId: wholeNumber });
const update = openObject({
  ...{ time: wholeNumber, hash: anyText, delta: openObject({ type: anyText }) },
});
const twap = openObject({
  ...{ time: wholeNumber, state: openObject({ coin: anyText, sz: decimalText }) },
  status: openObject({ status: anyText }),
});
const orderStatus = anyOf(
  openObject({ status: choiceOf('order'), order: orderWithStatus }),
  openObject({ status: choiceOf('unknownOid') }),
);
const assetData = openObject({
  ...{ user: anyText, coin: anyText, leverage: openObject({ type: anyText, value: wholeNumber }) },
  ...{ maxTradeSzs: tuple(decimalText, decimalText) },
  ...{ availableToTrade: tuple(decimalText, decimalText), markPx: decimalText },
});

const fillFields: FieldTable = {
  ...USER_AND_DEX_FIELDS,
  aggregateByTime: optional(flagField),
};
const fillPeriodFields: FieldTable = {
  ...{ ...USER_FIELDS, ...PERIOD_FIELDS },
  ...{ aggregateByTime: optional(flagField), reversed: optional(flagField) },
};
const periodFields: FieldTable = { ...USER_FIELDS, ...ANY_PERIOD_FIELDS };
const fillDexFields: FieldTable = { ...fillPeriodFields, dex: optional(dexNameField) };

export const ORDER_TYPES: ReturnType<typeof declareForwarded> = declareForwarded(
  'orders and fills',
  [
    ['openOrders', USER_AND_DEX_FIELDS, listOf(openObject(ORDER, ORDER_OPTIONAL)), 'Open orders.'],
    [
      ...(['frontendOpenOrders', USER_AND_DEX_FIELDS, listOf(frontendOrder)] as const),
      'Open orders with their triggers.',
    ],
    [
      'historicalOrders',
      USER_AND_DEX_FIELDS,
      listOf(orderWithStatus),
      'The last orders.',
      PER_20_OF_2000,
    ],
    [
      'orderStatus',
      { ...USER_FIELDS, oid: orderIdField },
      orderStatus,
      'The status of an order.',
      LIGHT,
    ],
    ['userFills', fillFields, listOf(fill), 'The last fills.', PER_20_OF_2000],
    ['userFillsByTime', fillDexFields, listOf(fill), 'Fills in a period.', PER_20_OF_2000],
    [
      'userTwapSliceFills',
      USER_FIELDS,
      listOf(twapFill),
      'The last fills of TWAP orders.',
      PER_20_OF_2000,
    ],
    [
      ...(['userTwapSliceFillsByTime', fillPeriodFields, listOf(twapFill)] as const),
      'Fills of TWAP orders in a period.',
      PER_20_OF_2000,
    ],
    ['twapHistory', USER_FIELDS, listOf(twap), 'TWAP orders.', PER_20_OF_2000],
    ['userFunding', periodFields, listOf(update), 'Funding payments.', PER_20_OF_500],
    [
      ...(['userNonFundingLedgerUpdates', periodFields, listOf(update)] as const),
      'Deposits, withdrawals and transfers.',
      PER_20_OF_2000,
    ],
    [
      ...(['activeAssetData', { ...USER_FIELDS, coin: coinField }, assetData] as const),
      'Leverage and what can be traded in a market.',
    ],
  ],
);
