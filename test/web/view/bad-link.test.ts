/** What a link names in place of an address. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findBadUser } from '../../../web/src/view/url-state.ts';

test('an address that was cut off is found, and nothing in other links', () => {
  const whole = `0x${'ab'.repeat(20)}`;
  assert.equal(findBadUser('#user=0x12&dex=abc'), '0x12');
  assert.equal(findBadUser(`#user=${whole}z`), `${whole}z`);
  for (const fragment of ['', '#', '#board', '#user=', `#user=${whole}`, `#users=0x12&key=k`]) {
    assert.equal(findBadUser(fragment), undefined, fragment);
  }
});
