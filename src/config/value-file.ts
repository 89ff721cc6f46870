/** Reads a value from a file. Containers and service managers pass secrets to a program in files. */

import { readFileSync, statSync } from 'node:fs';

const BYTES_MAX = 65_536;

interface FileValue {
  readonly text: string | undefined;
  /** Why there is no text. The reason never contains text of the file. */
  readonly fault?: string;
}

/** Returns the only line of the file, without white space at its end. */
export function readValueFile(file: string): FileValue {
  try {
    const stat = statSync(file);
    // Every process of a service reads the file again, so a pipe is not allowed.
    if (!stat.isFile()) return { text: undefined, fault: `${file} is not a file` };
    if (stat.size > BYTES_MAX) {
      return { text: undefined, fault: `${file} is larger than ${BYTES_MAX} bytes` };
    }
    const text = readFileSync(file, 'utf8').replace(/\s+$/, '');
    if (text === '') return { text: undefined, fault: `${file} is empty` };
    if (!/[\r\n]/.test(text)) return { text };
    return { text: undefined, fault: `${file} has more than one line` };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { text: undefined, fault: `${file} cannot be read (${code})` };
  }
}
