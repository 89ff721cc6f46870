/** `perpinfo keys ...`: creates, lists and revokes access keys. */

import type { KeyReader, KeyStore, ListedKey } from '../../access/key-store.ts';
import { isName, KeyError, NAME_EXPECTED } from '../../access/keys.ts';
import { openKeys, openKeysForReading } from '../../access/open-key-store.ts';
import { KEY_SETTINGS } from '../../access/settings.ts';
import { formatBudget } from '../../config/budget.ts';
import { formatLabel } from '../../config/key-label.ts';
import { UsageError } from '../../config/usage-error.ts';
import { STORAGE_SETTINGS } from '../../ledger/settings.ts';
import type { Command } from '../command.ts';
import { warnIfOthersCanReadFolder } from '../permission-warnings.ts';

async function withKeys<K extends KeyReader, T>(
  opening: Promise<K>,
  use: (store: K) => T | Promise<T>,
): Promise<T> {
  const store = await opening;
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

const createSettings = { ...STORAGE_SETTINGS, ...KEY_SETTINGS };

export const keysCreate: Command<typeof createSettings> = {
  name: 'keys create',
  summary: 'Creates an access key, or adds a second secret to one.',
  settings: createSettings,
  details:
    'Prints only the secret on standard output. It is shown once: only its hash is stored.\n' +
    'Running services accept it within 100 ms, or within a second with --ledger.\n' +
    'To rotate a secret: create --key ID, deploy the new secret, then revoke the old one (ID.1).',
  example: 'perpinfo keys create --data ./data --label dashboard --budget 1200/min',
  async run({ settings, terminal }) {
    const { label, budget, expires, key } = settings;
    if (key !== undefined) {
      requireName('--key', key);
      refuseTerms({ label, budget, expires });
    }
    warnIfOthersCanReadFolder(settings.data, terminal);
    await withKeys(openKeys(settings, { create: key === undefined }), async (store) => {
      const { id, secret, name } =
        key === undefined
          ? await store.create({ label, budget, expiresMs: expires })
          : await store.addSecret(key);
      terminal.say(`key ${id}: its secret follows on standard output, and is not shown again`);
      try {
        await terminal.write(`${secret}\n`);
      } catch (error) {
        await revokeUnshown(store, name, error as Error);
      }
    });
  },
};

/** Revokes a secret that could not be printed, because no client can ever use it. Always throws. */
async function revokeUnshown(store: KeyStore, name: string, cause: Error): Promise<never> {
  try {
    await store.revoke(name);
  } catch (error) {
    const advice = `"keys revoke ${name}" revokes it`;
    const message = `${cause.message}: the secret ${name} is valid, and nobody has it; ${advice}`;
    throw new KeyError(`${message} (${(error as Error).message})`, { cause });
  }
  throw new KeyError(`${cause.message}: the secret ${name} is revoked`, { cause });
}

/**
 * Refuses a text that is not the name of a key. The error does not contain the text, because the
 * text may be a secret that was given by mistake.
 */
function requireName(argument: string, text: string): void {
  if (isName(text)) return;
  throw new UsageError([`${argument}: got a hidden value, expected ${NAME_EXPECTED}`]);
}

/**
 * Refuses terms for a second secret, because the secret inherits the label, budget and expiry of
 * its key.
 */
function refuseTerms(terms: { label: string; budget: unknown; expires: unknown }): void {
  const given = Object.entries(terms).filter(([, value]) => value !== undefined && value !== '');
  if (given.length === 0) return;
  const names = given.map(([name]) => `--${name}`).join(' and ');
  throw new UsageError([
    `${names}: not allowed with --key, the new secret inherits the terms of its key`,
  ]);
}

export const keysList: Command<typeof STORAGE_SETTINGS> = {
  name: 'keys list',
  summary: 'Lists the keys: id, label, created, last used, budget, expiry, revocation, secrets.',
  settings: STORAGE_SETTINGS,
  details:
    'Never shows a secret: none is stored. The time of last use is updated every few seconds. A revoked\n' +
    'key is shown for 90 days.',
  example: 'perpinfo keys list --data ./data',
  async run({ settings, terminal }) {
    const { keys, faults } = await withKeys(openKeysForReading(settings), async (store) => ({
      keys: await store.list(),
      faults: store.faults,
    }));
    await terminal.write(formatKeys(keys));
    if (faults.length > 0) throw new KeyError(faults.join('; '));
  },
};

export const keysRevoke: Command<typeof STORAGE_SETTINGS> = {
  name: 'keys revoke',
  summary: 'Revokes a key, or one of its secrets.',
  positional: { usage: 'ID', help: 'the key, or one of its secrets such as ID.1', required: true },
  settings: STORAGE_SETTINGS,
  details: 'Running services refuse it within 100 ms, or within a second with --ledger.',
  example: 'perpinfo keys revoke --data ./data 4f1d22a0c9',
  async run({ settings, positionals: [name], terminal }) {
    requireName('ID', name);
    await withKeys(openKeys(settings, { create: false }), (store) => store.revoke(name));
    terminal.say(`revoked ${name}`);
  },
};

function formatTime(timeMs: number | undefined, absent: string): string {
  return timeMs === undefined ? absent : `${new Date(timeMs).toISOString().slice(0, 19)}Z`;
}

function formatKeys(keys: readonly ListedKey[]): string {
  const head = ['ID', 'LABEL', 'CREATED', 'LAST USED', 'BUDGET', 'EXPIRES', 'REVOKED', 'SECRETS'];
  const rows = keys.map((key) => [
    key.id,
    formatLabel(key.label),
    formatTime(key.createdMs, ''),
    formatTime(key.lastUsedMs, 'never'),
    key.budget === undefined ? 'none' : formatBudget(key.budget),
    formatTime(key.expiresMs, 'never'),
    formatTime(key.revokedMs, 'no'),
    key.secrets.map(({ number }) => `${key.id}.${number}`).join(' '),
  ]);
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column].length)),
  );
  const lines = [head, ...rows].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}
