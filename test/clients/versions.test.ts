/**
 * Several versions of @nktkas/hyperliquid, which differ in how they join the base address and the path. Those
 * that need a later Node than we do are not in the lockfile: .ci/run installs them elsewhere, and says where.
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { PROJECT } from '../../tools/harness/paths.ts';
import { startDemo, type User } from './demo.ts';

const demo = await startDemo({ after });
const { base, trader: user } = demo;

/** As far as all versions have it. */
interface Sdk {
  HttpTransport: new (options: object) => object;
  InfoClient?: InfoConstructor;
  /** What early versions call it. */
  PublicClient?: InfoConstructor;
}

type InfoConstructor = new (options: { transport: object }) => Info;

interface Utils {
  SymbolConverter: { create(options: { transport: object; dexs: true }): Promise<Converter> };
}

interface Converter {
  getAssetId(coin: string): number;
  getSzDecimals(coin: string): number;
}

interface Info {
  clearinghouseState(asked: { user: User }): Promise<unknown>;
  meta(): Promise<unknown>;
}

function findVersions(): string[] {
  const modules = path.join(PROJECT, 'node_modules');
  const further = process.env['PERPTEST_CLIENTS'];
  const folders = further === undefined ? [modules] : [modules, further];
  const aliases = folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.startsWith('hyperliquid-'))
      .map((name) => path.join(folder, name)),
  );
  return [path.join(modules, '@nktkas/hyperliquid'), ...aliases];
}

interface Version {
  readonly sdk: Sdk;
  readonly version: string;
  /** Its further modules, which come under other names in older versions. */
  utils(): Promise<Utils>;
}

async function load(folder: string): Promise<Version> {
  const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  const resolve = (name: string) => {
    const entry = manifest.exports[name];
    return path.join(folder, entry.import?.default ?? entry.import ?? entry.default);
  };
  return {
    sdk: await import(resolve('.')),
    version: manifest.version,
    utils: () => import(resolve('./utils')),
  };
}

function createTransport({ HttpTransport }: Sdk, address: string): object {
  // Versions before 0.29 have one address for each of the exchange's networks.
  const server = { mainnet: { api: address }, testnet: { api: address } };
  return new HttpTransport({ apiUrl: address, server });
}

function connect(sdk: Sdk, address: string): Info {
  const Client = sdk.InfoClient ?? sdk.PublicClient;
  assert.ok(Client);
  return new Client({ transport: createTransport(sdk, address) });
}

const versions = await Promise.all(findVersions().map(load));

for (const { sdk, version, utils } of versions) {
  test(`version ${version} gets answers from the base address with its slash`, async () => {
    const info = connect(sdk, base);
    const account = await demo.tell(() => info.clearinghouseState({ user }));
    await demo.assertTold(account, { type: 'clearinghouseState', user });
    await demo.assertTold(await demo.tell(() => info.meta()), { type: 'meta' });
  });

  test(`version ${version} gets answers, or our advice, without the slash`, async () => {
    const asked = connect(sdk, base.slice(0, -1)).meta();
    await asked.catch((error: Error) => {
      assert.match(error.message, /401.*end the address with a slash/);
    });
  });

  test(`version ${version} finds the number of every market`, {
    skip: Number(version.split('.')[1]) < 33 && 'it takes no exchange without spot markets',
  }, async () => {
    const { SymbolConverter } = await utils();
    const transport = createTransport(sdk, base);
    const converter = await SymbolConverter.create({ transport, dexs: true });
    const { markets } = await demo.stateAt(await demo.height());
    const counts = markets.dexes.map(() => 0);
    for (const { coin, dexIndex, sizeDecimals } of markets.markets) {
      const place = counts[dexIndex]++;
      const id = dexIndex === 0 ? place : 100_000 + dexIndex * 10_000 + place;
      const found = [converter.getAssetId(coin), converter.getSzDecimals(coin)];
      assert.deepEqual(found, [id, sizeDecimals], coin);
    }
    assert.ok(counts.every((count) => count > 0));
  });
}

test('there are versions from before and after the change of how addresses are joined', () => {
  assert.ok(versions.length >= 2);
});
