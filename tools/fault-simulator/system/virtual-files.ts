/**
 * Replaces Node's file functions for the files of a simulated machine. Other files are the real
 * files.
 */

import fs from 'node:fs';
import promises from 'node:fs/promises';
import { SIMULATED_ROOT, type SimulatedFiles } from './simulated-files.ts';

type FileNode = ReturnType<SimulatedFiles['require']>;

/** The methods of a file handle that the code uses. */
class SimulatedHandle {
  readonly #files: SimulatedFiles;
  readonly #node: FileNode;
  #position = 0;

  constructor(files: SimulatedFiles, node: FileNode) {
    this.#files = files;
    this.#node = node;
  }

  async read(target: Uint8Array, offset: number, length: number): Promise<{ bytesRead: number }> {
    await this.#files.delay();
    const part = target.subarray(offset, offset + length);
    const bytesRead = this.#files.read(this.#node, part, this.#position);
    this.#position += bytesRead;
    return { bytesRead };
  }

  async write(
    bytes: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ bytesWritten: number }> {
    await this.#files.delay();
    const part = bytes.subarray(offset, offset + length);
    return { bytesWritten: this.#files.write(this.#node, part, position) };
  }

  async stat(): Promise<{ size: number }> {
    await this.#files.delay();
    return { size: this.#node.bytes.length };
  }

  async sync(): Promise<void> {
    await this.#files.delay();
    this.#files.sync(this.#node);
  }

  async close(): Promise<void> {
    await this.#files.delay();
  }
}

/** A folder that is open only to be synced. */
class FolderHandle {
  readonly #files: SimulatedFiles;
  readonly #folder: string;

  constructor(files: SimulatedFiles, folder: string) {
    this.#files = files;
    this.#folder = folder;
  }

  async sync(): Promise<void> {
    await this.#files.delay();
    this.#files.syncFolder(this.#folder);
  }

  async close(): Promise<void> {
    await this.#files.delay();
  }
}

async function openFile(files: SimulatedFiles, name: string, flags: string): Promise<unknown> {
  await files.delay();
  if (files.isFolder(name)) return new FolderHandle(files, name);
  return new SimulatedHandle(files, flags === 'r' ? files.require(name) : files.create(name));
}

async function writeWhole(
  files: SimulatedFiles,
  name: string,
  content: unknown,
  { flush = false }: { flush?: boolean } = {},
): Promise<void> {
  await files.delay();
  const node = files.create(name);
  const chunks = typeof content === 'string' ? [Buffer.from(content)] : content;
  let position = 0;
  for await (const chunk of chunks as AsyncIterable<Uint8Array>) {
    for (let written = 0; written < chunk.length; ) {
      await files.delay();
      written += files.write(node, chunk.subarray(written), position + written);
    }
    position += chunk.length;
  }
  if (flush) files.sync(node);
}

/** Returns the part of a blob that the code uses: the bytes of a file as a stream. */
async function openBlob(files: SimulatedFiles, name: string) {
  await files.delay();
  const { bytes } = files.require(name);
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    await files.delay();
    controller.enqueue(Uint8Array.from(bytes));
    controller.close();
  };
  return { stream: () => new ReadableStream({ pull }) };
}

function describe(files: SimulatedFiles, name: string) {
  const node = files.find(name);
  return {
    size: node?.bytes.length ?? 0,
    mtimeMs: node?.modifiedMs ?? 0,
    isDirectory: () => files.isFolder(name),
  };
}

/**
 * Replaces Node's file functions. `find` returns the simulated files; it returns undefined while no
 * simulation runs.
 */
export function replaceFileFunctions(find: () => SimulatedFiles | undefined): void {
  const filesOf = (name: unknown) =>
    typeof name === 'string' && name.startsWith(SIMULATED_ROOT) ? find() : undefined;

  /**
   * Replaces a function by a function that calls the simulated function for simulated files, and
   * the real function for other files.
   */
  const replace = <M extends object>(
    module: M,
    name: keyof M,
    simulated: (files: SimulatedFiles, file: string, ...rest: never[]) => unknown,
  ) => {
    const real = module[name] as (...values: unknown[]) => unknown;
    module[name] = ((file: unknown, ...rest: unknown[]) => {
      const files = filesOf(file);
      if (files === undefined) return real(file, ...rest);
      return simulated(files, file as string, ...(rest as never[]));
    }) as M[keyof M];
  };

  replace(fs, 'existsSync', (files, name) => files.exists(name));
  replace(fs, 'readdirSync', (files, name) => files.list(name));
  replace(fs, 'mkdirSync', (files, name) => files.makeFolder(name));
  replace(fs, 'statSync', (files, name) =>
    files.exists(name) ? describe(files, name) : undefined,
  );
  replace(fs, 'statfsSync', (files) => ({ bavail: files.freeBytes, bsize: 1 }));
  replace(fs, 'openAsBlob', (files, name) => openBlob(files, name));
  replace(promises, 'open', (files, name, flags: string) => openFile(files, name, flags));
  replace(promises, 'writeFile', (files, name, content: unknown, options?: { flush?: boolean }) =>
    writeWhole(files, name, content, options),
  );
  replace(promises, 'readFile', async (files, name) => {
    await files.delay();
    return files.require(name).bytes.toString('utf8');
  });
  replace(promises, 'rename', async (files, name, to: string) => {
    await files.delay();
    files.rename(name, to);
  });
  replace(promises, 'rm', async (files, name) => {
    await files.delay();
    files.remove(name);
  });
  replace(promises, 'stat', async (files, name) => {
    await files.delay();
    files.require(name);
    return describe(files, name);
  });
}
