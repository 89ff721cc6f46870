/**
 * Parses a question, from a body, a query string or a subscription, and decides where its answer
 * comes from. `chooseSource` is the only rule for this decision, for every transport.
 */

import { isJsonObject } from '../events/fields.ts';
import { describeValue } from '../events/refusal.ts';
import type { StateView } from '../state/state.ts';
import { NO_ARCHIVE } from './archive/moment-height.ts';
import { askAtMoment, askOverTime } from './archive-question.ts';
import { type FieldTable, readOne, readParameters, readValues } from './fields/field.ts';
import { formatField, readFormat } from './fields/format-field.ts';
import { findMomentFault, PAST_MOMENT_FIELDS, readMoment } from './fields/past-moment.ts';
import { readUpstreamFields, readUpstreamParameters } from './fields/upstream-fields.ts';
import {
  type ArchiveQuestion,
  type Question,
  type StateQuestion,
  UpstreamQuestion,
} from './question.ts';
import type { ArchiveQuestionType, QuestionType, StateQuestionType } from './question-type.ts';
import { OWN_TYPES, PUSHED_TYPES, QUESTION_TYPES } from './question-types.ts';
import { RequestError, type RequestErrorCode, wrongValue } from './request-error.ts';
import { readStateQuestion } from './state-question.ts';

/** `forwards` is true if the upstream may be asked: --forward is on, and there is an upstream. */
interface ForwardTerms {
  readonly forwards: boolean;
}

const NOT_FORWARDED: ForwardTerms = { forwards: false };

type GivenFields = Readonly<Record<string, unknown>>;

/** The types that are answered, by name. */
interface TypeTable {
  /** A Map and not an object, so that nothing is found for a type such as "constructor". */
  readonly byType: ReadonlyMap<unknown, QuestionType>;
  /** The end of the error message for any other type. */
  readonly expected: string;
  /**
   * A cache of refusals, because a client that asks for an unknown type usually asks for it again
   * and again.
   */
  readonly unknownTypes: Map<string, RequestError>;
}

/** The maximum number of cached refusals, and the maximum length of the types in them. */
const UNKNOWN_TYPES_MAX = 64;
const UNKNOWN_TYPE_LENGTH_MAX = 64;

function tableOf(types: readonly QuestionType[]): TypeTable {
  return {
    byType: new Map<unknown, QuestionType>(types.map((each) => [each.type, each])),
    expected: `expected one of ${types.map(({ type }) => type).join(', ')}`,
    unknownTypes: new Map(),
  };
}

const ALL_TABLE = tableOf(QUESTION_TYPES);
const OWN_TABLE = tableOf(OWN_TYPES);
const PUSHED_TABLE = tableOf(PUSHED_TYPES);

/**
 * Returns where the answer to a question comes from. With --forward, it comes from the upstream if
 * the type declares this; otherwise it comes from the ledger, or from its archive. The upstream
 * never answers a question about the past, because it answers about the present only.
 */
function chooseSource(
  questionType: QuestionType,
  { forwards }: ForwardTerms,
  isAboutPast: boolean,
): QuestionType['source'] {
  if (questionType.source === 'upstream') return 'upstream';
  const { upstreamFirst } = questionType;
  if (!forwards || upstreamFirst === undefined) return questionType.source;
  return isAboutPast && upstreamFirst.isPastFromArchive ? questionType.source : 'upstream';
}

/** Returns the question in a body, or its refusal. The refusal names the body by `name`. */
export function readQuestion(
  body: unknown,
  name = 'body',
  forwarding = NOT_FORWARDED,
): Question | RequestError {
  const questionType = readTypeOf(tableFor(forwarding), name, body);
  if (questionType instanceof RequestError) return questionType;
  return readFields(questionType, body as GivenFields, forwarding);
}

/** Returns the question in a query string, or its refusal. */
export function readQuery(
  parameters: URLSearchParams,
  forwarding = NOT_FORWARDED,
): Question | RequestError {
  const types = parameters.getAll('type');
  const type = types.length === 0 ? undefined : readOne('type', types);
  if (type instanceof RequestError) return type;
  const questionType = readType(tableFor(forwarding), type);
  if (questionType instanceof RequestError) return questionType;
  const isAboutPast = Object.keys(PAST_MOMENT_FIELDS).some((name) => parameters.has(name));
  const source =
    chooseSource(questionType, forwarding, isAboutPast) === 'upstream'
      ? readUpstreamParameters(upstreamFieldsOf(questionType), parameters)
      : readParameters(ownFieldsOf(questionType), parameters);
  return source instanceof RequestError ? source : readFields(questionType, source, forwarding);
}

function tableFor({ forwards }: ForwardTerms): TypeTable {
  return forwards ? ALL_TABLE : OWN_TABLE;
}

function ownFieldsOf({ fields }: QuestionType): FieldTable {
  return { ...PAST_MOMENT_FIELDS, format: formatField, ...fields };
}

function upstreamFieldsOf(questionType: QuestionType): FieldTable {
  if (questionType.source === 'upstream') return questionType.fields;
  return questionType.upstreamFirst?.fields ?? questionType.fields;
}

function readFields(
  questionType: QuestionType,
  source: GivenFields,
  forwarding: ForwardTerms,
): Question | RequestError {
  const isAboutPast = Object.keys(PAST_MOMENT_FIELDS).some((name) => source[name] !== undefined);
  const isForwarded = chooseSource(questionType, forwarding, isAboutPast) === 'upstream';
  if (isForwarded || questionType.source === 'upstream') {
    return readUpstreamQuestion(questionType, source);
  }
  if (questionType.source === 'archive') return readSeriesQuestion(questionType, source);
  const question = readStateQuestion(questionType, source);
  if (question instanceof RequestError) return question;
  const moment = readMoment(source);
  if (moment === undefined || moment instanceof RequestError) return moment ?? question;
  return askAtMoment(question, moment);
}

function readSeriesQuestion(
  questionType: ArchiveQuestionType,
  source: GivenFields,
): ArchiveQuestion | RequestError {
  const fields = readValues(questionType, source);
  if (fields instanceof RequestError) return fields;
  const format = readFormat(questionType, source['format']);
  if (format instanceof RequestError) return format;
  const moment = readMoment(source);
  if (moment instanceof RequestError) return moment;
  return askOverTime(questionType, fields, { format, moment });
}

/**
 * Returns a question that is rebuilt from checked fields: the text that the client sent is never
 * passed on.
 */
function readUpstreamQuestion(
  questionType: QuestionType,
  { type: _, ...source }: GivenFields,
): UpstreamQuestion | RequestError {
  const { type } = questionType;
  const reason = `${type} is passed on to the exchange, which is asked about the present`;
  const fields =
    findMomentFault(source, reason) ?? readUpstreamFields(upstreamFieldsOf(questionType), source);
  return fields instanceof RequestError ? fields : new UpstreamQuestion({ type, ...fields });
}

/**
 * Returns the question that is sent to the upstream, or its refusal; returns undefined if the
 * question is not sent to the upstream.
 */
export function readForwarded(body: unknown): UpstreamQuestion | RequestError | undefined {
  if (!isJsonObject(body) || !ALL_TABLE.byType.has(body['type'])) return undefined;
  const question = readQuestion(body, 'body', { forwards: true });
  return question instanceof RequestError || question.source === 'upstream' ? question : undefined;
}

/**
 * Returns the question about the present in a body, or throws a RequestError.
 *
 * @internal exported for tests and benchmarks
 */
export function parseQuestion(body: unknown): StateQuestion {
  const question = orThrow(readQuestion(body));
  if (question.source === 'archive') throw NO_ARCHIVE;
  if (question.source === 'upstream') throw new Error(`${question.type} is forwarded`);
  return question;
}

/** Returns the question that a subscription asks, or throws a RequestError. */
export function parseSubscription(subscription: unknown): StateQuestion {
  const questionType = orThrow(readTypeOf(PUSHED_TABLE, 'subscription', subscription));
  const source = subscription as GivenFields;
  const refusal = findMomentFault(source, 'the past is not pushed');
  return orThrow(refusal ?? readStateQuestion(questionType as StateQuestionType, source));
}

function orThrow<T>(read: T | RequestError): T {
  if (read instanceof RequestError) throw read;
  return read;
}

function readTypeOf(table: TypeTable, name: string, value: unknown): QuestionType | RequestError {
  if (isJsonObject(value)) return readType(table, value['type']);
  return wrongValue(name, value, 'an object with a type');
}

function readType(table: TypeTable, type: unknown): QuestionType | RequestError {
  const questionType = table.byType.get(type);
  if (questionType !== undefined) return questionType;
  if (typeof type === 'string') return refuseUnknownType(table, type);
  const code = type === undefined ? 'missing_field' : 'invalid_field';
  return refuseType(table, code, type);
}

function refuseUnknownType(table: TypeTable, type: string): RequestError {
  const cached = table.unknownTypes.get(type);
  if (cached !== undefined) return cached;
  const refusal = refuseType(table, 'unknown_type', type);
  if (type.length > UNKNOWN_TYPE_LENGTH_MAX) return refusal;
  if (table.unknownTypes.size === UNKNOWN_TYPES_MAX) table.unknownTypes.clear();
  table.unknownTypes.set(type, refusal);
  return refusal;
}

function refuseType({ expected }: TypeTable, code: RequestErrorCode, type: unknown): RequestError {
  return new RequestError(code, `type: got ${describeValue(type)}, ${expected}`, 'type');
}

/** Answers a question from one state, as JSON text, or throws a RequestError. */
export function answerQuestion(state: StateView, body: unknown): string {
  return parseQuestion(body).answer(state);
}
