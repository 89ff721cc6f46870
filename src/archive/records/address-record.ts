/**
 * The archive's record of an address: the row of the address in the state, and the dexes on which
 * the address has accounts.
 */

import { allocateRecord, checkRecord, seal } from './record-encoding.ts';

export interface KnownAddress {
  readonly row: number;
  /** The dexes on which the address has an account. */
  readonly dexes: readonly number[];
}

const ROW_WIDTH = 4;
const DEX_WIDTH = 2;

export function packKnownAddress({ row, dexes }: KnownAddress, key: Buffer): Buffer {
  const { record, start } = allocateRecord(ROW_WIDTH + DEX_WIDTH * dexes.length);
  record.writeUInt32LE(row, start);
  for (const [index, dex] of dexes.entries()) {
    record.writeUInt16LE(dex, start + ROW_WIDTH + DEX_WIDTH * index);
  }
  return seal(record, key);
}

export function unpackKnownAddress(record: Buffer, key: Buffer): KnownAddress {
  const start = checkRecord(record, key, `the record of address 0x${key.toString('hex')}`);
  const dexes: number[] = [];
  for (let offset = start + ROW_WIDTH; offset < record.length; offset += DEX_WIDTH) {
    dexes.push(record.readUInt16LE(offset));
  }
  return { row: record.readUInt32LE(start), dexes };
}
