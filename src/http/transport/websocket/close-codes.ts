/** Close codes of the WebSocket protocol. */

export const GOING_AWAY = 1001;
export const POLICY_VIOLATION = 1008;
export const INTERNAL_ERROR = 1011;
export const TRY_AGAIN_LATER = 1013;
