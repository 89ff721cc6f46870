/** The options of the command: which mutants are tried, and how they are tried. */

import { parseArgs } from 'node:util';
import { FOLDERS, listSources } from './mutated-build.ts';

export interface Options {
  readonly folders: readonly string[];
  /** The files to mutate, relative to src/; undefined for all files of the folders. */
  readonly files: readonly string[] | undefined;
  /**
   * The test files to run, relative to test/ and without .test.ts; undefined for all test files.
   */
  readonly tests: readonly string[] | undefined;
  /** The number of random mutants to try; undefined for all mutants. */
  readonly sample: number | undefined;
  readonly seed: string;
  readonly jobs: number;
  /** True if only the most promising tests are run, for a first overview. */
  readonly isQuick: boolean;
  /** True if mutants with an explanation are not tried. */
  readonly isTrusting: boolean;
  /** The file that stores the result of each mutant; undefined for no file. */
  readonly results: string | undefined;
}

export const USAGE = `npm run test:mutations -- [option ...]

  --folder NAME     only this folder of src/: ${FOLDERS.join(', ')}; may be given again
  --file NAME       only this file, such as exact/decimal.ts; may be given again
  --test NAME       only this file of tests, such as twin/fold; may be given again
  --sample COUNT    only so many mutants, at random
  --seed TEXT       of the sample; the default is 1
  --jobs COUNT      threads that try mutants; the default is 1
  --quick           run only the most promising tests, for a first look
  --trust-explained do not try mutants that have an explanation
  --results FILE    keep what has come of each mutant, and go on from there`;

/** Reads the options; throws an error that says which option is wrong. */
export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      folder: { type: 'string', multiple: true },
      file: { type: 'string', multiple: true },
      test: { type: 'string', multiple: true },
      sample: { type: 'string' },
      seed: { type: 'string', default: '1' },
      jobs: { type: 'string', default: '1' },
      quick: { type: 'boolean', default: false },
      'trust-explained': { type: 'boolean', default: false },
      results: { type: 'string' },
    },
  });
  checkChoices('folder', values.folder, FOLDERS);
  checkChoices('file', values.file, listSources());
  return {
    folders: values.folder ?? FOLDERS,
    files: values.file,
    tests: values.test,
    sample: values.sample === undefined ? undefined : readCount('sample', values.sample),
    seed: values.seed,
    jobs: readCount('jobs', values.jobs),
    isQuick: values.quick,
    isTrusting: values['trust-explained'],
    results: values.results,
  };
}

function checkChoices(
  name: string,
  values: readonly string[] | undefined,
  choices: readonly string[],
): void {
  const wrong = values?.find((value) => !choices.includes(value));
  if (wrong !== undefined) {
    throw new Error(`--${name}: got "${wrong}", expected one of ${choices.join(', ')}`);
  }
}

function readCount(name: string, text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count > 0) return count;
  throw new Error(`--${name}: got "${text}", expected a whole number above 0`);
}
