/** Forms of the exchange that the follower does not read yet: off unless a test chooses them. */

export interface StubForms {
  /** Lists of dexes have an element that is null, and a dex without tables leaves the member out. */
  readonly oddElements: boolean;
  /** One balance backs several dexes, spot orders hold a part of it, and `hold` is a double. */
  readonly sharedCollateral: boolean;
  /** Some accounts have the modes portfolioMargin and dexAbstraction, which follow other rules. */
  readonly otherModes: boolean;
  /** Some positions have margin tiers other than their market's, as vaults have. */
  readonly ownTiers: boolean;
}

export const STUB_FORMS: StubForms = {
  oddElements: false,
  sharedCollateral: false,
  otherModes: false,
  ownTiers: false,
};
