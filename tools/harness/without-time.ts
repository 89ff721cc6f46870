/** An answer apart from its times, which do not make it another one. */
export function withoutTime(answer: string): string {
  return answer.replaceAll(/"(?:time|serverTime)":\d+/g, '');
}
