/**
 * Loads the compiled code with one broken variant in it: use it as node --import. A variable names
 * the variant.
 */

import { register } from 'node:module';

register('./variant-hooks.js', import.meta.url, {
  data: { name: process.env['PERPTEST_VARIANT'] },
});
