/** A subscription of the push connection, as it is sent. */

export interface UpstreamSubscription {
  readonly type: string;
  readonly [field: string]: string;
}
