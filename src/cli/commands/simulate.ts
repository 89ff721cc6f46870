/** `perpinfo simulate`: prints the blocks of a simulated exchange on standard output. */

import { createSimulator } from '../../simulator/simulator.ts';
import type { Command } from '../command.ts';
import { SIMULATE_SETTINGS } from '../settings.ts';

const settings = SIMULATE_SETTINGS;

/** Lines are buffered up to this number of characters before they are written. */
const BUFFER_CHARACTERS = 1 << 18;

export const simulate: Command<typeof settings> = {
  name: 'simulate',
  summary: "Writes a simulated exchange's blocks, as NDJSON, to standard output.",
  settings,
  details:
    'The first blocks set the exchange up: markets, then accounts. The same seed and settings give\n' +
    'the same bytes on any machine.',
  example: 'perpinfo simulate --blocks 5000 --accounts 200 --seed 7 > blocks.ndjson',
  async run({ settings: chosen, terminal, signal }) {
    const { seed, accounts, blocks } = chosen;
    const simulator = createSimulator({ seed, accounts });
    let text = '';
    for (let count = 1; count <= blocks && !signal.aborted; count++) {
      text += `${simulator.next()}\n`;
      if (text.length < BUFFER_CHARACTERS && count < blocks) continue;
      await terminal.write(text);
      text = '';
      terminal.progress(() => `simulating: block ${count} of ${blocks}`);
    }
  },
};
