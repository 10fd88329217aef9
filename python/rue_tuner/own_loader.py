"""rue's own Loader as what is measured: each trial gets a loader of the same data with other knobs."""
from . import knobs
from .loader import Loader
from .loader.options import KNOBS, refuse_unknown
from .subjects import Facts, Factory


class OwnLoader(Factory):
    """`loader` is a Loader. Its batch size stays, unless `space` has others."""
    name, own = "rue", KNOBS

    def __init__(self, loader, space=None, count=None, images=None, epochs=1):
        self.loader = loader
        super().__init__(lambda batch_size, num_workers, **more: None, space, count, images, epochs)
        refuse_unknown(self.knobs, loader.options)

    def facts(self):
        return Facts(map_style=True, drops_last=self.drops_last(), images=self.loader.images, sure=True, plain=True)

    def drops_last(self, request=None):
        return self.loader.options["drop_last"]

    def default_space(self):
        config = self.loader.config
        workers = sorted({config["num_workers"], *knobs.default_workers()})
        return dict({name: [value] for name, value in config.items() if value is not None}, num_workers=workers)

    def tensor_bytes(self, request):
        """Batches are not in /dev/shm."""
        return 0

    def count_images(self, config, found):
        self.images, self.checked = self.given_images or self.loader.images, not self.given_images

    def arguments(self):
        return [*self.space, *self.knobs]

    def make(self, values, images, copier):
        return self.loader.with_(**values)

    def recommended_loader(self, config, overrides):
        return self.loader.with_(**{**{name: value for name, value in config.items() if name in self.own}, **overrides})

    def identity(self):
        return f"{self.loader!r} {self.loader.digest}"

    def baseline(self):
        return own_configuration(self.loader.config, self.space)


def own_configuration(config, space):
    """The knobs of the caller's loader, as --baseline takes them; None if they are not searched."""
    own = {name: config[name] for name in ("batch_size", "num_workers")}
    return ",".join(f"{name}={value}" for name, value in own.items()) if all(v in space[n] for n, v in own.items()) else None
