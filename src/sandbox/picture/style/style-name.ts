/** The treatments that a picture can have. */
export type StyleName = "plain" | "oil" | "watercolor" | "pixels" | "sketch" | "poster";
