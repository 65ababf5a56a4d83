// How close the rows of tables are, remembered in the browser.

import { type ReactNode, useState } from "react";
import { texts } from "./texts.ts";

const densities = ["comfortable", "compact"] as const;
type Density = (typeof densities)[number];

const stored = "gantry-density";

const isCompact = (): boolean => localStorage.getItem(stored) === "compact";

const show = (density: Density): void => {
  document.documentElement.dataset["density"] = density;
};

/** Applies what the browser remembers. */
export const startDensity = (): void => show(isCompact() ? "compact" : "comfortable");

export const DensityChoice = (): ReactNode => {
  const [density, setDensity] = useState<Density>(() => (isCompact() ? "compact" : "comfortable"));
  return (
    <fieldset className="density">
      <legend className="quiet">{texts.density}</legend>
      {densities.map((each) => (
        <label key={each}>
          <input
            type="radio"
            name="density"
            checked={each === density}
            onChange={() => {
              localStorage.setItem(stored, each);
              show(each);
              setDensity(each);
            }}
          />
          {texts[each]}
        </label>
      ))}
    </fieldset>
  );
};
