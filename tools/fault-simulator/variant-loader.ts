/** Loads the compiled code with one broken variant in it: node --import, with the variant's name. */

import { register } from 'node:module';

register('./variant-hooks.js', import.meta.url, {
  data: { name: process.env['PERPTEST_VARIANT'] },
});
