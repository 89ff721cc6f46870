/** Lays out JSON text in lines: what is joined again is the same text, byte for byte. */

/** No line of a file of cases is longer, unless a single text in the line is. */
export const LINE_LENGTH = 120;
/** A case indents its answer. */
const ANSWER_LENGTH = LINE_LENGTH - 2;

/** The lines, each with the spaces that it is indented by. */
export function layOut(json: string): string[] {
  const { lines } = new Layout(json);
  return lines;
}

/** The text that the lines are made of. */
export function joinLines(lines: readonly string[]): string {
  return lines.map((line) => line.trimStart()).join('');
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^"{}[\],:]+/gy;

class Layout {
  readonly lines: string[] = [];
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(json: string) {
    this.#tokens = json.match(TOKEN) ?? [];
    if (this.#tokens.join('') !== json) throw new Error(`not JSON: ${json.slice(0, 100)}`);
    this.#write(this.#takeValue(), 0);
  }

  /** A value of the text: a scalar, or a list of parts, each with its name and the comma before it. */
  #takeValue(): Value {
    const first = this.#tokens[this.#at++];
    if (first !== '{' && first !== '[') return { text: first, parts: [] };
    const parts: Part[] = [];
    while (this.#tokens[this.#at] !== (first === '{' ? '}' : ']')) parts.push(this.#takePart());
    const last = this.#tokens[this.#at++];
    const text = `${first}${parts.map(({ name, value }) => name + value.text).join(',')}${last}`;
    return { text, parts };
  }

  #takePart(): Part {
    if (this.#tokens[this.#at] === ',') this.#at++;
    let name = '';
    if (this.#tokens[this.#at + 1] === ':') {
      name = `${this.#tokens[this.#at]}:`;
      this.#at += 2;
    }
    return { name, value: this.#takeValue() };
  }

  /** Several parts stand in a line where they fit. */
  #write({ text, parts }: Value, indent: number, before = '', after = ''): void {
    const spaces = ' '.repeat(indent);
    const whole = `${spaces}${before}${text}${after}`;
    if (parts.length === 0 || whole.length <= ANSWER_LENGTH) {
      this.lines.push(whole);
      return;
    }
    this.lines.push(`${spaces}${before}${text[0]}`);
    let line = '';
    for (const [index, { name, value }] of parts.entries()) {
      const comma = index === parts.length - 1 ? '' : ',';
      const part = `${name}${value.text}${comma}`;
      if (indent + 2 + line.length + part.length <= ANSWER_LENGTH) {
        line += part;
        continue;
      }
      if (line !== '') this.lines.push(`${spaces}  ${line}`);
      line = '';
      if (indent + 2 + part.length <= ANSWER_LENGTH) line = part;
      else this.#write(value, indent + 2, name, comma);
    }
    if (line !== '') this.lines.push(`${spaces}  ${line}`);
    this.lines.push(`${spaces}${text.at(-1)}${after}`);
  }
}

interface Value {
  readonly text: string;
  readonly parts: readonly Part[];
}

interface Part {
  readonly name: string;
  readonly value: Value;
}
