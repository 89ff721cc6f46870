/** Reads the JSON pieces of a backup. Each field is checked, and a refusal names the field. */

import type { Key } from '../access/keys.ts';
import { BUDGET_EXPECTED, type Budget, isBudget } from '../config/budget.ts';
import { isLabel, LABEL_EXPECTED } from '../config/key-label.ts';
import { type FieldReader, isJsonObject, readObject } from '../events/fields.ts';
import { Refusal } from '../events/refusal.ts';
import type { BackedUpKeys, BackupDescription, BackupEnd } from './backup-format.ts';

const HEIGHTS = { from: 0, to: Number.MAX_SAFE_INTEGER };
/** The latest time of a JavaScript date, in milliseconds. */
const TIMES = { from: 0, to: 8.64e15 };
/** The maximum number of secrets of a key. */
const SECRETS_MAX = 2;
const HASH = /^[\da-f]{64}$/;
const HASH_EXPECTED = '64 hexadecimal digits';

export function readDescription(payload: Buffer): BackupDescription {
  return readObject(parse(payload), (fields) => {
    const base = fields.object('base', (point) => ({
      height: point.whole('height', HEIGHTS),
      hash: point.textOf('hash', HASH, HASH_EXPECTED),
    }));
    const snapshot = fields.take('snapshot');
    if (base.height > 0) return { base, snapshot: readSnapshotSize(snapshot, base.height) };
    if (snapshot === null) return { base, snapshot };
    throw new Refusal('snapshot', snapshot, 'null, since the first block is in the backup');
  });
}

function readSnapshotSize(source: unknown, from: number) {
  if (!isJsonObject(source)) {
    throw new Refusal(
      'snapshot',
      source,
      'an object, since the first blocks are not in the backup',
    );
  }
  return readObject(source, (fields) => ({
    height: fields.whole('height', { ...HEIGHTS, from }),
    bytes: fields.whole('bytes', { from: 1, to: Number.MAX_SAFE_INTEGER }),
  }));
}

export function readEndFields(payload: Buffer): BackupEnd {
  return readObject(parse(payload), (fields) => ({
    height: fields.whole('height', HEIGHTS),
    head: fields.textOf('head', HASH, HASH_EXPECTED),
    digest: fields.textOf('digest', HASH, HASH_EXPECTED),
  }));
}

export function readKeyList(payload: Buffer): BackedUpKeys {
  const ids = new Set<string>();
  const hashes = new Set<string>();
  const source = { '': parse(payload) };
  return readObject(source, (fields) =>
    fields.list('', (item) => readObject(item, (key) => readKey(key, item as Key, ids, hashes))),
  );
}

/** Checks each field of a key, and returns the key as it is in the file. */
function readKey(fields: FieldReader, key: Key, ids: Set<string>, hashes: Set<string>): Key {
  const id = fields.textOf('id', /^[\da-f]{10}$/, '10 hexadecimal digits');
  refuseRepeated('id', id, ids);
  const label = fields.text('label');
  if (!isLabel(label)) throw new Refusal('label', label, LABEL_EXPECTED);
  fields.whole('createdMs', TIMES);
  if ('budget' in key) readBudget(fields.take('budget'));
  for (const time of ['expiresMs', 'revokedMs']) if (time in key) fields.whole(time, TIMES);
  const to = fields.whole('secretCount', { from: 1, to: Number.MAX_SAFE_INTEGER });
  const secrets = fields.list('secrets', (item) =>
    readObject(item, (secret) => readSecret(secret, to, hashes)),
  );
  const numbers = new Set(secrets);
  const isComplete = numbers.size > 0 || 'revokedMs' in key;
  if (isComplete && secrets.length <= SECRETS_MAX && numbers.size === secrets.length) return key;
  throw new Refusal('secrets', key.secrets, `1 or ${SECRETS_MAX} with different numbers`);
}

function readBudget(source: unknown): void {
  const budget = readNumbers(source);
  if (!isBudget(budget)) {
    const given = `${budget.weight} in ${budget.periodMs} ms`;
    throw new Refusal('budget', given, BUDGET_EXPECTED);
  }
}

function readNumbers(source: unknown): Budget {
  if (!isJsonObject(source)) throw new Refusal('budget', source, BUDGET_EXPECTED);
  const { weight, periodMs, ...others } = source;
  const isNumbers = typeof weight === 'number' && typeof periodMs === 'number';
  if (isNumbers && Object.keys(others).length === 0) return { weight, periodMs };
  throw new Refusal('budget', source, BUDGET_EXPECTED);
}

/** Checks a secret, and returns its number. */
function readSecret(fields: FieldReader, to: number, hashes: Set<string>): number {
  const number = fields.whole('number', { from: 1, to });
  const hash = fields.textOf('hash', /^[A-Za-z\d+/]{43}=$/, 'a SHA-256 in base64');
  refuseRepeated('hash', hash, hashes);
  fields.whole('createdMs', TIMES);
  return number;
}

function refuseRepeated(field: string, text: string, before: Set<string>): void {
  if (before.has(text)) throw new Refusal(field, text, 'one that no key before it has');
  before.add(text);
}

function parse(payload: Buffer): unknown {
  const text = payload.toString();
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal('', text, 'JSON');
  }
}
