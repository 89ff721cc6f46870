/** Pushed answers are shown as they arrive, and not polled for. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Page, WebSocketRoute } from 'playwright-core';
import { createPlaces } from '../../tools/harness/program.ts';
import { createKey, makeLedger, startService, until } from '../../tools/harness/running.ts';
import { LONG_ONLY } from '../scale.ts';
import { browserTest, openPage, useBrowser } from './browser.ts';
import { readPanels } from './page-figures.ts';
import { delegation, firstBlock, USER, VALIDATORS } from './small-ledger.ts';

const place = createPlaces();
useBrowser();

interface Subscription {
  type: string;
  user?: string;
  dex?: string;
}

/** A scripted server side of the socket. */
class ScriptedSocket {
  readonly subscriptions = new Map<string, Subscription>();
  route: WebSocketRoute | undefined;
  opened = 0;

  async prepare(page: Page): Promise<void> {
    await page.routeWebSocket(/\/ws\?/, (route) => {
      this.route = route;
      this.opened++;
      route.onMessage((text) => this.#received(JSON.parse(String(text))));
    });
  }

  #received({ method, subscription }: { method: string; subscription: Subscription }): void {
    if (method === 'ping') this.push('pong');
    if (method === 'subscribe') this.subscriptions.set(subscription.type, subscription);
    if (method === 'unsubscribe') this.subscriptions.delete(subscription.type);
    if (subscription !== undefined) this.push('subscriptionResponse', { method, subscription });
  }

  push(channel: string, data?: object): void {
    this.route?.send(JSON.stringify({ channel, data }));
  }
}

async function openPushed(context: TestContext) {
  const stake = delegation(VALIDATORS[0], '5.0', 1);
  const data = await makeLedger(place(), [firstBlock({ time: Date.now(), events: [stake] })]);
  const { secret } = await createKey(data);
  const service = await startService(context, { data, flags: ['--max-age', '0'] });
  const socket = new ScriptedSocket();
  const url = `http://127.0.0.1:${service.port}/#key=${secret}&users=${USER}`;
  const page = await openPage(url, {
    expected: /status of 422/,
    prepare: (opened) => socket.prepare(opened),
  });
  await until('three subscriptions', () => socket.subscriptions.size === 3);
  await page.locator('[data-field="connection"]', { hasText: 'live, pushed' }).waitFor();
  const ask = async (type: string) => {
    const { body } = await service.connect().ask(secret, { type, user: USER });
    return JSON.parse(body);
  };
  return { page, socket, ask };
}

browserTest(
  'pushed answers are shown with their height',
  async (context) => {
    const { page, socket, ask } = await openPushed(context);
    const [[, state]] = await ask('allDexsClearinghouseState');
    const position = state.assetPositions[0].position;
    position.unrealizedPnl = '1234.567891';
    const user = USER;
    const clearinghouseStates = [['', { ...state, withdrawable: '77.654321' }]];
    socket.push('allDexsClearinghouseState', { user, clearinghouseStates, height: 41, time: 9 });
    socket.push('delegations', { user, delegations: [], height: 42, time: 9 });
    const auction = {
      startTimeSeconds: 0,
      durationSeconds: 10,
      startGas: '9.0',
      currentGas: '4.5',
      endGas: null,
    };
    socket.push('perpDeployAuctionStatus', {
      perpDeployAuctionStatus: auction,
      height: 43,
      time: 9,
    });
    const panels = await until('all pushes', async () => {
      const shown = await readPanels(page);
      return shown['auction'].height === 43 && shown;
    });
    assert.equal(panels['account'].height, 41);
    assert.deepEqual(panels['account'].fields['withdrawable'], {
      complete: '77.654321',
      text: '77.65',
    });
    assert.equal(panels['positions'].rows[position.coin]['unrealizedPnl'].complete, '1234.567891');
    assert.deepEqual([panels['stakes'].height, panels['stakes'].order], [42, []]);
    assert.equal(panels['auction'].fields['currentGas'].complete, '4.5');
  },
  LONG_ONLY,
);

browserTest(
  'pushed answers are not polled for, until pushes end',
  async (context) => {
    const { page, socket } = await openPushed(context);
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') asked.push(request.postDataJSON().type);
    });
    const countAccounts = () => asked.filter((type) => type === 'allDexsClearinghouseState').length;
    await page.waitForTimeout(3_000);
    assert.equal(countAccounts(), 0, asked.join());
    await socket.route?.close({ code: 1001 });
    await page.locator('[data-field="connection"]', { hasText: 'live, polled' }).waitFor();
    await until('polling', () => countAccounts() > 0);
    // And it connects again.
    await until('a second socket', () => socket.opened >= 2);
    await page.locator('[data-field="connection"]', { hasText: 'live, pushed' }).waitFor();
  },
  LONG_ONLY,
);

browserTest(
  'another account replaces the subscriptions of the first',
  async (context) => {
    const { page, socket } = await openPushed(context);
    const other = `0x${'cd'.repeat(20)}`;
    await page.getByLabel('Address').fill(other);
    await page.keyboard.press('Enter');
    await until('the other account', () => {
      const users = [...socket.subscriptions.values()].map(({ user }) => user);
      return users.filter((user) => user === other).length === 2;
    });
    // A late push for the first account changes nothing.
    socket.push('delegations', {
      user: USER,
      delegations: [{ validator: VALIDATORS[0], amount: '9.0', lockedUntilTimestamp: 1 }],
      height: 99,
      time: 9,
    });
    await page.waitForTimeout(600);
    assert.notEqual((await readPanels(page))['stakes'].height, 99);
  },
  LONG_ONLY,
);
