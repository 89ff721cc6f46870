/** The field of an address. */

import {
  ADDRESS_EXPECTED,
  ADDRESS_PATTERN,
  type Address,
  expectedAddress,
  formatAddress,
  parseAddress,
} from '../../exact/address.ts';
import { wrongValue } from '../request-error.ts';
import type { Schema } from '../schema.ts';
import type { Field } from './field.ts';

export const ADDRESS_SCHEMA: Schema<string> = { type: 'string', pattern: ADDRESS_PATTERN };

export const addressField: Field<Address> = {
  description: `an address: ${ADDRESS_EXPECTED}, either case`,
  schema: ADDRESS_SCHEMA,
  read(name, value) {
    const address = typeof value === 'string' ? parseAddress(value) : undefined;
    if (address !== undefined) return address;
    return wrongValue(name, value, expectedAddress(value), 'invalid_address');
  },
  format: (address) => `"${formatAddress(address)}"`,
  // Addresses are in lower case, so that equal questions are equal texts.
  toUpstream: formatAddress,
};
