/** A user's delegations at a height, as a record of the archive. */

import type { Address } from '../../exact/address.ts';
import { DELEGATIONS_SEEN, FIRST_DELEGATION } from '../../state/addresses.ts';
import { delegatedAmount, LOCKED_UNTIL, NEXT_DELEGATION, VALIDATOR } from '../../state/staking.ts';
import type { StateView } from '../../state/state.ts';
import { ADDRESS_BYTES, packAddress, unpackAddress } from './archive-tables.ts';
import { PackedReader, PackedWriter } from './record-encoding.ts';

export interface DelegationList {
  /** The column DELEGATIONS_SEEN of the address's row. */
  readonly seen: number;
  readonly delegations: readonly {
    readonly validator: Address;
    readonly amount: bigint;
    readonly lockedUntil: number;
  }[];
}

export function packDelegations(state: StateView, addressRow: number, key: Buffer): Buffer {
  const { addresses, delegations } = state;
  const out = new PackedWriter();
  out.whole(addresses.table.get(addressRow, DELEGATIONS_SEEN));
  let row = addresses.table.get(addressRow, FIRST_DELEGATION);
  for (; row !== 0; row = delegations.get(row, NEXT_DELEGATION)) {
    out.bytes(packAddress(addresses.addressOf(delegations.get(row, VALIDATOR))));
    out.signed(delegatedAmount(state, row));
    out.whole(delegations.get(row, LOCKED_UNTIL));
  }
  return out.finish(key);
}

export function unpackDelegations(record: Buffer, key: Buffer, what: string): DelegationList {
  const reader = new PackedReader(record, key, what);
  const seen = reader.whole();
  const delegations: DelegationList['delegations'][0][] = [];
  const bytes = Buffer.alloc(ADDRESS_BYTES);
  while (!reader.isAtEnd) {
    for (let index = 0; index < ADDRESS_BYTES; index++) bytes[index] = reader.byte();
    const amount = BigInt(reader.signed());
    delegations.push({ validator: unpackAddress(bytes), amount, lockedUntil: reader.whole() });
  }
  return { seen, delegations };
}
