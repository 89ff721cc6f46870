/**
 * The form of answers: at each place of their JSON the members in their order, and the kinds of values.
 * Two sources of one kind of answer can be compared by it, whatever their figures are.
 */

type Json = ReturnType<typeof JSON.parse>;

/** Of all values at one place. */
interface Place {
  readonly kinds: Set<string>;
  /** The members of each object, in their order. */
  readonly objects: string[][];
}

/** By path, such as "assetPositions[].position". */
export type Forms = ReadonlyMap<string, Place>;

export function collectForms(answers: readonly Json[]): Forms {
  const forms = new Map<string, Place>();
  for (const answer of answers) collect(forms, '', answer);
  return forms;
}

function collect(forms: Map<string, Place>, path: string, value: Json): void {
  const place = forms.get(path) ?? { kinds: new Set(), objects: [] };
  forms.set(path, place);
  place.kinds.add(kindOf(value));
  if (Array.isArray(value)) for (const item of value) collect(forms, `${path}[]`, item);
  else if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    place.objects.push(members.map(([name]) => name));
    for (const [name, member] of members) collect(forms, `${path}.${name}`, member);
  }
}

const TEXTS: readonly [RegExp, string][] = [
  [/^0x[0-9a-f]+$/, 'hexadecimal'],
  [/^-?(?:0|[1-9]\d*)\.(?:0|\d{0,9}[1-9])$/, 'decimal'],
  [/^\d{4}-\d\d-\d\dT/, 'date'],
];

function kindOf(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  if (typeof value !== 'string') return typeof value;
  return TEXTS.find(([pattern]) => pattern.test(value))?.[1] ?? 'text';
}

export interface Comparison {
  readonly stub: Forms;
  readonly recorded: Forms;
  /** Paths that a recording lacks, since they were cut from it. */
  readonly cut?: readonly string[];
}

/** What the stub has and no recording, what all recordings have and the stub has not, other orders. */
export function findDeviations({ stub, recorded, cut = [] }: Comparison): string[] {
  const deviations: string[] = [];
  const note = (path: string, what: string) => deviations.push(`${path || 'the answer'}: ${what}`);
  for (const [path, place] of stub) {
    if (cut.some((start) => path.startsWith(start))) continue;
    const known = recorded.get(path);
    if (known === undefined) note(path, 'not recorded');
    else compare(place, known, (what) => note(path, what));
  }
  for (const path of recorded.keys()) if (!stub.has(path)) note(path, 'only recorded');
  return deviations;
}

function compare(stub: Place, recorded: Place, note: (what: string) => void): void {
  for (const kind of stub.kinds) {
    if (!recorded.kinds.has(kind)) note(`${kind}, recorded ${[...recorded.kinds].join(' or ')}`);
  }
  const pairs = new Set(recorded.objects.flatMap(listPairs));
  const wrong = new Set(stub.objects.flatMap(listPairs).filter((pair) => isSwapped(pair, pairs)));
  for (const pair of wrong) note(`${pair} in the wrong order`);
  for (const name of findAlways(recorded.objects)) {
    if (!stub.objects.every((names) => names.includes(name))) note(`${name} is missing`);
  }
}

/** Each two members, the earlier one first. */
function listPairs(names: readonly string[]): string[] {
  return names.flatMap((one, index) => names.slice(index + 1).map((other) => `${one} ${other}`));
}

function isSwapped(pair: string, recorded: ReadonlySet<string>): boolean {
  const [one, other] = pair.split(' ');
  return !recorded.has(pair) && recorded.has(`${other} ${one}`);
}

/** Members that every object has. */
function findAlways(objects: readonly string[][]): string[] {
  return (objects[0] ?? []).filter((name) => objects.every((names) => names.includes(name)));
}
