// What a page draws plots with: Vega's parser, its view, the transforms that Vega-Lite compiles to, and the interpreter,
// which computes expressions without evaluating text. Maps, trees, clouds and forces are left out: no plot has them.
import { transforms } from "vega-dataflow";
import * as encode from "vega-encode";
import * as basic from "vega-transforms";
import * as view from "vega-view-transforms";

export { expressionInterpreter } from "vega-interpreter";
export { parse } from "vega-parser";
export { View } from "vega-view";

Object.assign(transforms, basic, view, encode);
