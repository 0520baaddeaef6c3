"""The studio: a local web page to paint labels on images and to label whole images."""
